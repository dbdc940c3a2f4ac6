/* 16-bit floats and float32, one value at a time; the vector instructions round the same way. */
#ifndef NORMSCOPE_STORAGE_H
#define NORMSCOPE_STORAGE_H

#include <stdint.h>
#include <string.h>

static inline float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float from_bfloat16(uint16_t stored)
{
    return float_of((uint32_t)stored << 16);
}

/* To nearest, ties to even. A NaN must not be rounded up into an infinity's neighbour: it keeps its upper half. */
static inline uint16_t to_bfloat16(float value)
{
    uint32_t bits = bits_of(value);
    if (value != value)
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A multiplication moves the exponent's bias from 15 to 127, subnormals included; it takes what is no number for 65536
 * or more, whose exponent then still has to grow. No branch: a loop becomes vectors. */
static inline float from_float16(uint16_t stored)
{
    uint32_t sign = (uint32_t)(stored & 0x8000) << 16, magnitude = stored & 0x7fff;
    uint32_t grown = (uint32_t)(magnitude >= 0x7c00) * (0x7f800000 - 0x47800000);
    return float_of(sign | (bits_of(float_of(magnitude << 13) * 0x1p112f) + grown));
}

/* To nearest, ties to even. */
static inline uint16_t to_float16(float value)
{
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000) /* 65520, halfway past the largest */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) /* 2^-14: adding 1/2 leaves a subnormal's last place as the sum's last */
        return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

#endif
