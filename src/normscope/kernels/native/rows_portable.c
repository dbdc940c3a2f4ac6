/* The rows of every storage type, in C alone. */
#include "rows_common.h"

#include "lanes_portable.h"

#include "rows_of_all.h"

NormRows *const portable_rows[4] = {rows_float32, rows_float64, rows_float16, rows_bfloat16};
