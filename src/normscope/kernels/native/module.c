/* Python's side of the kernels: takes the ordinary case, and answers NotImplemented to any other. */
#include "arguments.h"
#include "backward_call.h"
#include "copy.h"
#include "plan.h"
#include "pool.h"

typedef struct {
    const Norm *norm;
    NormRows *rows;
    ptrdiff_t step;
} Work;

enum {
    WORTH_UNLOCKING = 1 << 16, /* cells; fewer are done before another thread would have the lock */
    WORTH_A_PART = 1 << 14,    /* cells; the first and the last rows of a part take longer than those between */
};

static void norm_part(void *work, ptrdiff_t part)
{
    const Work *all = work;
    ptrdiff_t first = part * all->step, last = first + all->step;
    all->rows(all->norm, first, last < all->norm->count ? last : all->norm->count);
}

static void run(const Norm *norm, const Plan *plan)
{
    const ptrdiff_t least = plan->threads, most = least > 1 ? 4 * least : 1; /* more, so that a late thread is helped */
    ptrdiff_t parts = norm->count * norm->d / WORTH_A_PART;
    parts = parts < least ? least : parts > most ? most : parts;
    ptrdiff_t step = (norm->count + parts - 1) / parts;
    Work work = {norm, plan->rows, step};
    if (norm->count)
        pool_run(norm_part, &work, (norm->count + step - 1) / step, plan->threads);
}

/* What to write into: the array that was given, or a new one. */
static PyObject *output(Call *call, PyObject *const *arguments, int which)
{
    if (arguments[which] != Py_None)
        return Py_NewRef(arguments[which]);
    PyObject *made = numpy_empty_like(arguments[X]);
    if (made && !call_take_output(call, which, made)) {
        Py_DECREF(made);
        return call_refused();
    }
    return made;
}

static PyObject *computed(Call *call, PyObject *const *arguments)
{
    PyObject *sum = NULL, *y = output(call, arguments, OUT);
    if (y && y != Py_NotImplemented && call->norm.residual.at && !(sum = output(call, arguments, SUM_OUT)))
        Py_CLEAR(y);
    if (!y || y == Py_NotImplemented || sum == Py_NotImplemented) {
        PyObject *none = y ? Py_NewRef(Py_NotImplemented) : NULL;
        Py_XDECREF(y);
        Py_XDECREF(sum);
        return none;
    }
    Norm *const norm = &call->norm;
    Plan plan = plan_norm(norm, call->threads);
    if (!call_place_parameters(call, head_of(norm, norm->y.at, bytes_of(norm->storage)))) {
        Py_DECREF(y);
        Py_XDECREF(sum);
        return NULL;
    }
    if (norm->count * norm->d < WORTH_UNLOCKING)
        run(norm, &plan);
    else {
        Py_BEGIN_ALLOW_THREADS
        run(norm, &plan);
        Py_END_ALLOW_THREADS
    }
    if (!sum)
        return y;
    PyObject *both = PyTuple_Pack(2, y, sum);
    Py_DECREF(y);
    Py_DECREF(sum);
    return both;
}

static int counted(Py_ssize_t count)
{
    if (count != ARGUMENTS)
        PyErr_Format(PyExc_TypeError, "%d arguments are needed, not %zd", ARGUMENTS, count);
    return count == ARGUMENTS;
}

PyDoc_STRVAR(norm_doc, "norm(x, residual, gamma, beta, eps, out, sum_out, threads, center, bfloat16)\n\n"
                       "y, or (y, sum) with a residual; NotImplemented for what arrange.py has to bring into form.\n"
                       "bfloat16: 16-bit integers are bfloat16.");
static PyObject *norm(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    (void)module;
    if (!counted(count))
        return NULL;
    PyObject *result = call_take(&call, arguments) ? computed(&call, arguments) : call_refused();
    call_release(&call);
    return result;
}

PyDoc_STRVAR(plan_doc, "plan(...)\n\nHow norm(...) would do it, with the same arguments: instructions, threads and\n"
                       "stores, each followed by its reason; NotImplemented as norm.");
static PyObject *plan(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    Call call;
    (void)module;
    if (!counted(count))
        return NULL;
    PyObject *result;
    if (call_take(&call, arguments)) {
        Plan made = plan_norm(&call.norm, call.threads);
        result = Py_BuildValue("ssisss", made.instructions, made.why_instructions, made.threads, made.why_threads,
                               made.stores, made.why_stores);
    } else
        result = call_refused();
    call_release(&call);
    return result;
}

PyDoc_STRVAR(force_doc, "force(instructions, stores)\n\nFor tests: use these, such as \"portable\" and \"plain\", from now on;\n"
                        "None for what fits best.");
static PyObject *force(PyObject *module, PyObject *arguments)
{
    const char *instructions, *stores;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "zz", &instructions, &stores))
        return NULL;
    if (!plan_force(instructions, stores))
        return PyErr_Format(PyExc_ValueError, "no such instructions or stores here: %s, %s",
                            instructions ? instructions : "None", stores ? stores : "None");
    Py_RETURN_NONE;
}

PyDoc_STRVAR(copy_doc, "copy(to, from, threads, stream)\n\nCopies a buffer into one of the same length: the yardstick.");
static PyObject *copy(PyObject *module, PyObject *arguments)
{
    Py_buffer to, from;
    int threads, stream;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "w*y*ip", &to, &from, &threads, &stream))
        return NULL;
    int fits = to.len == from.len && threads > 0;
    if (fits) {
        Py_BEGIN_ALLOW_THREADS
        copy_bytes(to.buf, from.buf, (size_t)to.len, threads, stream);
        Py_END_ALLOW_THREADS
    } else
        PyErr_SetString(PyExc_ValueError, "two buffers of the same length and at least one thread are needed");
    PyBuffer_Release(&to);
    PyBuffer_Release(&from);
    return fits ? Py_NewRef(Py_None) : NULL;
}

PyDoc_STRVAR(cores_doc, "cores()\n\nHow many processors this process may use.");
static PyObject *cores(PyObject *module, PyObject *none)
{
    (void)module, (void)none;
    return PyLong_FromLong(pool_cores());
}

static PyMethodDef METHODS[] = {
    {"norm", (PyCFunction)(void (*)(void))norm, METH_FASTCALL, norm_doc},
    {"plan", (PyCFunction)(void (*)(void))plan, METH_FASTCALL, plan_doc},
    {"backward", (PyCFunction)(void (*)(void))backward_call, METH_FASTCALL, backward_doc},
    {"force", force, METH_VARARGS, force_doc},
    {"copy", copy, METH_VARARGS, copy_doc},
    {"cores", cores, METH_NOARGS, cores_doc},
    {0},
};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "normscope.kernels._native",
    .m_doc = "Norms over rows, fused and vectorized.",
    .m_methods = METHODS,
    .m_slots = (PyModuleDef_Slot[]){{0}},
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&MODULE);
}
