/* How a call is done: the one place where that is decided. */
#ifndef NORMSCOPE_PLAN_H
#define NORMSCOPE_PLAN_H

#include "backward.h"
#include "norm.h"

typedef struct {
    const char *instructions, *why_instructions;
    const char *stores, *why_stores; /* "plain" or "streaming" */
    const char *why_threads;
    int threads;
    NormRows *rows;
    BackwardBlock *backward;
} Plan;

/* threads 0: as many as are worth it. It also sets the norm's `stream`, `lines`, `in_place` and `fetch`. */
Plan plan_norm(Norm *norm, int threads);

/* For tests: from now on these instructions and stores, NULL for those that fit best; 0 where there are none such. */
int plan_force(const char *instructions, const char *stores);

/* Whether the processor has an instruction set that is named as in a Plan. */
int plan_supports(const char *instructions);

#endif
