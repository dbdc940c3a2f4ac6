/* Takes what needs no copy: native floats, cells of a row side by side, rows at one stride. arrange.py does the rest. */
#include "arguments.h"

#include <float.h>
#include <string.h>

#include "storage.h"

enum { WORTH_COPYING = 8 }; /* rows for which gamma and beta are copied to where they lie in a line as y does */

static int take(Call *call, int which, PyObject *array)
{
    if (array == Py_None)
        return which != X;
    return view_take(&call->views[which], array, which >= OUT);
}

/* The storage that a view's format names, or -1; a bfloat16 may come as 16-bit integers, where that is said. */
static int storage_of(const View *view, int brain)
{
    switch (view->format) {
    case 'f': return FLOAT32;
    case 'd': return FLOAT64;
    case 'e': return FLOAT16;
    case BRAIN_FORMAT: return BFLOAT16;
    case 'H': return brain ? BFLOAT16 : -1;
    default: return -1;
    }
}

static int is_empty(const View *view)
{
    for (int axis = 0; axis < view->ndim; axis++)
        if (view->shape[axis] == 0)
            return 1;
    return 0;
}

/* The leading axes as one, where one stride leads along them all; without cells, strides say nothing. */
static int rows_of(const View *view, Rows *rows)
{
    const int last = view->ndim - 1;
    ptrdiff_t below = 0; /* rows that the axes looked at so far hold; 0 before the first of them */
    *rows = (Rows){view->at, 0};
    if (last >= 0 && is_empty(view))
        return 1;
    if (last < 0 || (view->shape[last] > 1 && view->strides[last] != view->itemsize))
        return 0;
    for (int axis = last - 1; axis >= 0; axis--) {
        if (view->shape[axis] == 1)
            continue;
        if (!below)
            rows->stride = view->strides[axis];
        else if (view->strides[axis] != rows->stride * below)
            return 0;
        below = (below ? below : 1) * view->shape[axis];
    }
    return (uintptr_t)view->at % (size_t)view->itemsize == 0 && rows->stride % view->itemsize == 0;
}

static int same_shape(const View *a, const View *b)
{
    return a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}

static int take_like_x(Call *call, int which, Rows *rows)
{
    const View *view = &call->views[which], *x = &call->views[X];
    if (!view->at)
        return 1;
    return storage_of(view, 1) == (int)call->norm.storage && same_shape(view, x) && rows_of(view, rows);
}

static int apart(const Norm *norm, Rows a, Rows b)
{
    ptrdiff_t width = norm->d * (ptrdiff_t)bytes_of(norm->storage), last = norm->count - 1;
    char *a_low = a.at + (a.stride < 0 ? last * a.stride : 0), *a_high = a.at + (a.stride > 0 ? last * a.stride : 0);
    char *b_low = b.at + (b.stride < 0 ? last * b.stride : 0), *b_high = b.at + (b.stride > 0 ? last * b.stride : 0);
    return a_high + width <= b_low || b_high + width <= a_low;
}

/* A row is read before it is written, so an output may be an input, but may not be shifted against it. */
static int safe(const Norm *norm, Rows output, Rows input)
{
    return !input.at || (output.at == input.at && output.stride == input.stride) || apart(norm, output, input);
}

static int outputs_are_safe(const Call *call)
{
    const Norm *norm = &call->norm;
    const ptrdiff_t width = norm->d * (ptrdiff_t)bytes_of(norm->storage);
    const Rows outputs[] = {norm->y, norm->sum};
    for (int i = 0; i < 2; i++) {
        Rows output = outputs[i];
        if (!output.at)
            continue;
        if (norm->count > 1 && output.stride < width && -output.stride < width)
            return 0;
        if (!safe(norm, output, norm->x) || !safe(norm, output, norm->residual))
            return 0;
        for (int which = GAMMA; which <= BETA; which++) {
            const View *view = &call->views[which];
            const char *low = output.at + (output.stride < 0 ? (norm->count - 1) * output.stride : 0);
            const char *high = output.at + (output.stride > 0 ? (norm->count - 1) * output.stride : 0) + width;
            const char *at = view->at;
            if (view->at && at < high && low < at + norm->d * view->itemsize)
                return 0;
        }
    }
    return !norm->y.at || !norm->sum.at || apart(norm, norm->y, norm->sum);
}

static int call_check(Call *call)
{
    Norm *norm = &call->norm;
    return take_like_x(call, OUT, &norm->y) && take_like_x(call, SUM_OUT, &norm->sum) &&
           (norm->count == 0 || norm->d == 0 || outputs_are_safe(call));
}

/* Gamma or beta as the rows compute: 16 bits are widened, and a NaN that rounding to bfloat16 would lose is quieted. */
static void widen(float *to, const View *view, ptrdiff_t d)
{
    const float *floats = (const float *)view->at;
    const uint16_t *halves = (const uint16_t *)view->at;
    switch (storage_of(view, 1)) {
    case FLOAT32:
        for (ptrdiff_t j = 0; j < d; j++)
            to[j] = floats[j] == floats[j] ? floats[j] : float_of(0x7fc00000);
        break;
    case FLOAT16:
        for (ptrdiff_t j = 0; j < d; j++)
            to[j] = from_float16(halves[j]);
        break;
    default:
        for (ptrdiff_t j = 0; j < d; j++)
            to[j] = from_bfloat16(halves[j]);
    }
}

/* Whether the rows read one where it stands. Many rows do not, where it does not begin at this byte of a line of the
 * cache: a load that crosses lines takes twice as long. */
static int stays(const Call *call, int which, size_t start)
{
    const View *view = &call->views[which];
    const Norm *norm = &call->norm;
    return view->at && norm->storage < FLOAT16 && ((size_t)view->at % LINE == start || norm->count < WORTH_COPYING);
}

/* One that is not given is 1 or -0, which leave every number as it is; then the rows know one case alone. */
static void fill(void *to, ptrdiff_t d, Storage storage, double value)
{
    for (ptrdiff_t j = 0; j < d; j++)
        if (storage == FLOAT64)
            ((double *)to)[j] = value;
        else
            ((float *)to)[j] = (float)value;
}

static const void *parameter(const Call *call, int which, size_t start, void *room)
{
    const View *view = &call->views[which];
    const Norm *norm = &call->norm;
    if (stays(call, which, start))
        return view->at;
    if (!view->at)
        fill(room, norm->d, norm->storage, which == GAMMA ? 1.0 : -0.0);
    else if (norm->storage >= FLOAT16)
        widen(room, view, norm->d);
    else
        memcpy(room, view->at, (size_t)norm->d * (size_t)view->itemsize);
    return room;
}

static int fits(const Call *call, int which)
{
    const View *view = &call->views[which];
    const int storage = storage_of(view, 1), x = call->norm.storage;
    return view->ndim == 1 && view->shape[0] == call->norm.d &&
           (call->norm.d < 2 || view->strides[0] == view->itemsize) && (size_t)view->at % (size_t)view->itemsize == 0 &&
           (storage == x || (storage == FLOAT32 && x >= FLOAT16));
}

static int parameters_fit(const Call *call)
{
    return (!call->views[GAMMA].at || fits(call, GAMMA)) && (!call->views[BETA].at || fits(call, BETA));
}

int call_place_parameters(Call *call, ptrdiff_t head)
{
    Norm *norm = &call->norm;
    const size_t cell = norm->storage == FLOAT64 ? sizeof(double) : sizeof(float), start = -((size_t)head * cell) % LINE;
    const size_t bytes = (start + (size_t)norm->d * cell + LINE - 1) / LINE * LINE;
    if (!norm->count) /* no row reads them, and a row without memory may be of any length */
        return 1;
    if (!stays(call, GAMMA, start) || !stays(call, BETA, start)) {
        call->room = PyMem_Malloc(2 * bytes + LINE);
        if (!call->room) {
            PyErr_NoMemory();
            return 0;
        }
    }
    char *const room = call->room ? (char *)next_line(call->room) + start : NULL;
    norm->gamma = parameter(call, GAMMA, start, room);
    norm->beta = parameter(call, BETA, start, room ? room + bytes : NULL);
    return 1;
}

static int take_numbers(Call *call, PyObject *const *arguments)
{
    call->norm.eps = PyFloat_AsDouble(arguments[EPS]);
    long threads = arguments[THREADS] == Py_None ? 0 : PyLong_AsLong(arguments[THREADS]);
    if (PyErr_Occurred() || PyBool_Check(arguments[EPS]) || PyBool_Check(arguments[THREADS])) {
        PyErr_Clear();
        return 0;
    }
    call->threads = (int)threads;
    call->norm.center = arguments[CENTER] == Py_True;
    return call->norm.eps >= 0 && call->norm.eps <= DBL_MAX && (threads > 0 || arguments[THREADS] == Py_None) &&
           threads <= 1024;
}

int call_take(Call *call, PyObject *const *arguments)
{
    static const int ARRAYS[] = {X, RESIDUAL, GAMMA, BETA, OUT, SUM_OUT};
    const int brain = arguments[BRAIN] == Py_True;
    Norm *norm = &call->norm;

    memset(call, 0, sizeof *call);
    for (int i = 0; i < 6; i++)
        if (!take(call, ARRAYS[i], arguments[ARRAYS[i]]))
            return 0;
    const View *x = &call->views[X];
    int storage = storage_of(x, brain);
    if (storage < 0 || !rows_of(x, &norm->x))
        return 0;
    norm->storage = storage;
    norm->d = x->shape[x->ndim - 1];
    norm->share = 1 / (double)norm->d;
    norm->count = norm->d ? 1 : 0;
    for (int axis = 0; axis < x->ndim - 1; axis++)
        norm->count *= x->shape[axis];
    return take_numbers(call, arguments) && take_like_x(call, RESIDUAL, &norm->residual) && parameters_fit(call) &&
           call_check(call);
}

PyObject *call_refused(void)
{
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
}

int call_take_output(Call *call, int which, PyObject *array)
{
    return take(call, which, array) && call_check(call);
}

void call_release(Call *call)
{
    for (int i = 0; i <= SUM_OUT; i++)
        view_release(&call->views[i]);
    PyMem_Free(call->room);
}
