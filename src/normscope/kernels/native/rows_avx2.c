/* The rows of every storage type, in AVX2. */
#ifdef __x86_64__
#include "rows_common.h"

#include "lanes_avx2.h"

#include "edge.h"

#define TEMPLATE "rows.h"
#include "each_storage.h"

NormRows *const avx2_rows[4] = {rows_float32, rows_float64, rows_float16, rows_bfloat16};
#endif
