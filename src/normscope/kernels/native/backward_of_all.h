/* backward_rows.h for each storage type, in the instruction set whose lanes were included before. */

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
