/* The rows of every storage type, in C alone. */
#include "rows_common.h"

#include "lanes_portable.h"

#include "edge.h"

#define TEMPLATE "rows.h"
#include "each_storage.h"

NormRows *const portable_rows[4] = {rows_float32, rows_float64, rows_float16, rows_bfloat16};
