/* A call's arguments, taken where they are as the rows want them. */
#ifndef NORMSCOPE_ARGUMENTS_H
#define NORMSCOPE_ARGUMENTS_H

#include "norm.h"
#include "numpy.h"

/* The arguments in their order: see module.c. */
enum { X, RESIDUAL, GAMMA, BETA, EPS, OUT, SUM_OUT, THREADS, CENTER, BRAIN, ARGUMENTS };

typedef struct {
    Norm norm;
    int threads; /* 0: not said */
    View views[SUM_OUT + 1];
    void *room; /* gamma and beta, where they do not stay where they are */
} Call;

/* 0 where something is not as the rows want it, or with an exception; then too, the call is to be released. */
int call_take(Call *call, PyObject *const *arguments);

/* What `out` or `sum_out` is, when it was made after the others were taken. */
int call_take_output(Call *call, int which, PyObject *array);

/* Gives the rows gamma and beta, which lie so that `head` cells later a line of the cache begins; 0 with an exception. */
int call_place_parameters(Call *call, ptrdiff_t head);

/* What is answered where a call was not taken: NULL with an exception, else NotImplemented. */
PyObject *call_refused(void);

void call_release(Call *call);

#endif
