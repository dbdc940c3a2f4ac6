/* NumPy's arrays, looked at without its headers: to build takes nothing but Python. */
#ifndef NORMSCOPE_NUMPY_H
#define NORMSCOPE_NUMPY_H

#include "python.h"

enum { BRAIN_FORMAT = 1 }; /* bfloat16, which has no letter */

/* An array's cells: where they are, how they lie, what they are. */
typedef struct {
    char *at; /* NULL: nothing was taken */
    int ndim;
    const Py_ssize_t *shape, *strides;
    Py_ssize_t itemsize;
    char format; /* as in Python's struct module, or BRAIN_FORMAT; 0 for anything but one native number */
    Py_buffer *buffer; /* to be given back; NULL for one of NumPy's arrays */
} View;

/* 0, without an exception, where it has no such view; else the view is to be released. */
int view_take(View *view, PyObject *array, int writable);

void view_release(View *view);

/* numpy.empty_like(array); NULL with an exception. */
PyObject *numpy_empty_like(PyObject *array);

#endif
