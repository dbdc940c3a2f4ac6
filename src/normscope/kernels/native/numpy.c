/* Any object may offer a buffer, but NumPy takes 80 ns to make one. What its binary interface fixes about the head of
 * an array is known faster; it is compared with a buffer once, and not used where they differ. */
#include "numpy.h"

#include <string.h>

typedef struct {
    PyObject_HEAD
    PyTypeObject *type_of_cells;
    char kind, type, byteorder, former_flags;
} Dtype;

typedef struct {
    PyObject_HEAD
    char *data;
    int ndim;
    Py_ssize_t *shape, *strides;
    PyObject *base;
    Dtype *dtype;
    int flags;
} Array;

enum { WRITABLE = 0x400 };

static PyTypeObject *array_type; /* NULL: heads are not known, or not as above */
static PyObject *empty_like;

static Py_ssize_t itemsize_of(char format)
{
    return format == 'd' ? 8 : format == 'f' ? 4 : format == 'e' || format == 'H' || format == BRAIN_FORMAT ? 2 : 0;
}

/* Whether cells are ml_dtypes' bfloat16; where it was not imported, none are. */
static int is_bfloat16(const PyTypeObject *type_of_cells)
{
    static PyObject *known;
    if (!known) {
        PyObject *name = PyUnicode_InternFromString("ml_dtypes"), *module = name ? PyImport_GetModule(name) : NULL;
        known = module ? PyObject_GetAttrString(module, "bfloat16") : NULL;
        Py_XDECREF(module);
        Py_XDECREF(name);
        PyErr_Clear();
    }
    return known && (const PyObject *)type_of_cells == known;
}

static int take_head(View *view, const Array *array, int writable)
{
    const Dtype *dtype = array->dtype;
    const char format = dtype->kind == 'V' && is_bfloat16(dtype->type_of_cells) ? BRAIN_FORMAT : dtype->type;
    if (dtype->byteorder != '=' || !itemsize_of(format) || (writable && !(array->flags & WRITABLE)))
        return 0;
    *view = (View){.at = array->data, .ndim = array->ndim, .shape = array->shape, .strides = array->strides};
    view->itemsize = itemsize_of(format);
    view->format = format;
    return 1;
}

static int take_buffer(View *view, PyObject *array, int writable)
{
    Py_buffer *buffer = PyMem_Malloc(sizeof *buffer);
    if (!buffer || PyObject_GetBuffer(array, buffer, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0))) {
        PyErr_Clear();
        PyMem_Free(buffer);
        return 0;
    }
    *view = (View){buffer->buf, buffer->ndim, buffer->shape, buffer->strides, buffer->itemsize, 0, buffer};
    const char *format = buffer->format;
    if (format && format[0] && !format[1] && buffer->itemsize == itemsize_of(format[0]))
        view->format = format[0];
    return view->at != NULL;
}

/* Whether an array of known shape and strides has the head that its buffer tells of. */
static int head_is_known(PyObject *array)
{
    View head, buffer;
    const Array *seen = (const Array *)array;
    if (!take_buffer(&buffer, array, 1))
        return 0;
    const size_t bytes = 2 * sizeof(Py_ssize_t);
    int known = buffer.format == 'e' && seen->data == buffer.at && seen->ndim == 2 &&
                !memcmp(seen->shape, buffer.shape, bytes) && !memcmp(seen->strides, buffer.strides, bytes) &&
                take_head(&head, seen, 1) && head.format == 'e';
    view_release(&buffer);
    return known;
}

/* Looks NumPy up, once it is there. */
static int prepare(void)
{
    PyObject *numpy = PyImport_ImportModule("numpy");
    PyObject *type = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
    PyObject *sample = type ? PyObject_CallFunction(type, "(ii)s", 3, 5, "e") : NULL;
    if (sample)
        empty_like = PyObject_GetAttrString(numpy, "empty_like");
    if (empty_like && head_is_known(sample))
        array_type = (PyTypeObject *)Py_NewRef(type);
    Py_XDECREF(sample);
    Py_XDECREF(type);
    Py_XDECREF(numpy);
    return empty_like != NULL;
}

int view_take(View *view, PyObject *array, int writable)
{
    if (!empty_like && !prepare()) {
        PyErr_Clear();
        return 0;
    }
    if (!array_type)
        return take_buffer(view, array, writable);
    return Py_TYPE(array) == array_type && take_head(view, (const Array *)array, writable);
}

void view_release(View *view)
{
    if (view->buffer)
        PyBuffer_Release(view->buffer);
    PyMem_Free(view->buffer);
}

PyObject *numpy_empty_like(PyObject *array)
{
    if (!empty_like && !prepare())
        return NULL;
    return PyObject_CallFunctionObjArgs(empty_like, array, NULL);
}
