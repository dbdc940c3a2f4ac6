/* The way back of every storage type, in C alone. */
#include "backward.h"
#include "rows_common.h"

#include "lanes_portable.h"

#define TEMPLATE "backward_rows.h"
#include "each_storage.h"

BackwardBlock *const portable_backward[4] = {backward_float32, backward_float64, backward_float16, backward_bfloat16};
