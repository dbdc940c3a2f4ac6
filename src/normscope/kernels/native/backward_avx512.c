/* The way back of every storage type, in AVX-512. */
#ifdef __x86_64__
#include "backward.h"
#include "rows_common.h"

#include "lanes_avx512.h"

#define TEMPLATE "backward_rows.h"
#include "each_storage.h"

BackwardBlock *const avx512_backward[4] = {backward_float32, backward_float64, backward_float16, backward_bfloat16};
#endif
