/* TEMPLATE for each storage type: its name, its cells as they are stored and as they are computed with. */
#define KIND float32
#define T float
#define W float
#include TEMPLATE

#define KIND float64
#define T double
#define W double
#include TEMPLATE

#define KIND float16
#define T uint16_t
#define W float
#include TEMPLATE

#define KIND bfloat16
#define T uint16_t
#define W float
#include TEMPLATE

#undef TEMPLATE
