/* Python's side of the way back. */
#ifndef NORMSCOPE_BACKWARD_CALL_H
#define NORMSCOPE_BACKWARD_CALL_H

#include "python.h"

/* The arguments of norm (residual: dy, out: dx), and sums (2, d), dgamma and dbeta: in float64, or in float32 as x. */
PyObject *backward_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

PyDoc_STRVAR(backward_doc,
             "backward(x, dy, gamma, None, eps, dx, None, threads, center, bfloat16, sums)\n\n"
             "Fills dx, and sums (2, d), in float64 or as x in float32, with dgamma and dbeta. None; NotImplemented\n"
             "as norm.");

#endif
