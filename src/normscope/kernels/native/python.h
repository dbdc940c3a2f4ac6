/* Python's stable interface, of 3.11 on. */
#ifndef NORMSCOPE_PYTHON_H
#define NORMSCOPE_PYTHON_H

#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#endif
