/* backward_rows.h for each storage type, in the instruction set whose lanes were included before. */
OP void keep_float(float *to, V_float a) { store_float32(to, a); }
OP void keep_double(double *to, V_double a) { store_float64(to, a); }

#define KIND float32
#define T float
#define W float
#include "backward_rows.h"

#define KIND float64
#define T double
#define W double
#include "backward_rows.h"

#define KIND float16
#define T uint16_t
#define W float
#include "backward_rows.h"

#define KIND bfloat16
#define T uint16_t
#define W float
#include "backward_rows.h"
