#include "backward_call.h"

#include <string.h>

#include "arguments.h"
#include "backward.h"
#include "plan.h"
#include "pool.h"

typedef struct {
    const Backward *back;
    BackwardBlock *block;
} Work;

static void one_block(void *work, ptrdiff_t block)
{
    const Work *all = work;
    all->block(all->back, block);
}

static void run(Backward *back, const Plan *plan, const Py_buffer *sums)
{
    Work work = {back, plan->backward};
    pool_run(one_block, &work, backward_blocks(back->count), plan->threads);
    backward_combine(back);
    if (sums->itemsize == sizeof(double))
        memcpy(sums->buf, back->sums, (size_t)sums->len);
    else
        for (ptrdiff_t j = 0; j < 2 * back->d; j++)
            ((float *)sums->buf)[j] = (float)back->sums[j];
}

/* Room for the blocks' sums, after which the scratch begins where a line of the cache does; NULL with an exception where
 * there is none. */
static double *room_of(const Norm *norm)
{
    size_t blocks = (size_t)backward_blocks(norm->count);
    size_t cells = 2 * blocks * ((size_t)norm->d + (size_t)backward_lines(norm->d)) + LINE / sizeof(double);
    double *room = PyMem_Malloc(cells * sizeof *room);
    if (!room)
        PyErr_NoMemory();
    return room;
}

/* Only whole lines are written past the cache. */
static int begin_at_lines(const Rows *rows)
{
    return (size_t)rows->at % LINE == 0 && rows->stride % LINE == 0;
}

static PyObject *filled(Call *call, const Py_buffer *sums)
{
    if (!call->norm.count || !call->norm.d) {
        memset(sums->buf, 0, (size_t)sums->len);
        return Py_NewRef(Py_None);
    }
    double *room = room_of(&call->norm);
    if (!room || !call_place_parameters(call, 0)) {
        PyMem_Free(room);
        return NULL;
    }
    Norm norm = call->norm;
    const Rows dy = norm.residual;
    norm.residual = (Rows){0};
    Plan plan = plan_norm(&norm, call->threads);
    Backward back = {
        .count = norm.count, .d = norm.d, .x = norm.x, .dy = dy, .dx = norm.y,
        .gamma = norm.gamma, .eps = norm.eps, .center = norm.center, .fetch = norm.fetch, .sums = room,
        .stream = norm.stream && begin_at_lines(&norm.y), .scratch = next_line(room + 2 * norm.d * backward_blocks(norm.count)),
    };
    Py_BEGIN_ALLOW_THREADS
    run(&back, &plan, sums);
    Py_END_ALLOW_THREADS
    PyMem_Free(room);
    return Py_NewRef(Py_None);
}

static int fits(const Py_buffer *sums, const Call *call)
{
    const char *format = sums->format ? sums->format : "";
    return (!strcmp(format, "d") || (!strcmp(format, "f") && call->norm.storage == FLOAT32)) &&
           sums->len == 2 * call->norm.d * sums->itemsize;
}

PyObject *backward_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    Py_buffer sums;
    (void)module;
    if (count != ARGUMENTS + 1)
        return PyErr_Format(PyExc_TypeError, "%d arguments are needed, not %zd", ARGUMENTS + 1, count);
    if (PyObject_GetBuffer(arguments[ARGUMENTS], &sums, PyBUF_ND | PyBUF_FORMAT | PyBUF_WRITABLE))
        return NULL;
    PyObject *result;
    if (call_take(&call, arguments) && fits(&sums, &call) && (!call.norm.count || (call.norm.residual.at && call.norm.y.at)))
        result = filled(&call, &sums);
    else
        result = call_refused();
    call_release(&call);
    PyBuffer_Release(&sums);
    return result;
}
