/* Python's side of the way back. */
#ifndef NORMSCOPE_BACKWARD_CALL_H
#define NORMSCOPE_BACKWARD_CALL_H

#include "python.h"

/* The arguments of norm (residual: dy, out: dx), and sums (2, d) in float64: dgamma and dbeta. */
PyObject *backward_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

PyDoc_STRVAR(backward_doc,
             "backward(x, dy, gamma, None, eps, dx, None, threads, center, bfloat16, sums)\n\n"
             "Fills dx, and sums (2, d), float64, with dgamma and dbeta. None; NotImplemented as norm.");

#endif
