/* The vector operations that rows.h is written in, for AVX2 with FMA and F16C. */
#include <immintrin.h>

#define ISA __attribute__((target("avx2,fma,f16c")))
#define OP ISA static inline __attribute__((always_inline))

typedef __m256 V_float;
typedef __m256d V_double;
enum { LANES_float = 8, LANES_double = 4 };

enum { TAKES_TURNS = 0 }; /* see lanes_avx512.h; here a load more costs more than it gains */

OP V_float set_float(float a) { return _mm256_set1_ps(a); }
OP V_float get_float(const float *a) { return _mm256_loadu_ps(a); }
OP void put_float(float *to, V_float a) { _mm256_storeu_ps(to, a); }
OP V_float add_float(V_float a, V_float b) { return _mm256_add_ps(a, b); }
OP V_float sub_float(V_float a, V_float b) { return _mm256_sub_ps(a, b); }
OP V_float mul_float(V_float a, V_float b) { return _mm256_mul_ps(a, b); }
OP V_float fma_float(V_float a, V_float b, V_float c) { return _mm256_fmadd_ps(a, b, c); }

OP V_double set_double(double a) { return _mm256_set1_pd(a); }
OP V_double get_double(const double *a) { return _mm256_loadu_pd(a); }
OP void put_double(double *to, V_double a) { _mm256_storeu_pd(to, a); }
OP V_double add_double(V_double a, V_double b) { return _mm256_add_pd(a, b); }
OP V_double sub_double(V_double a, V_double b) { return _mm256_sub_pd(a, b); }
OP V_double mul_double(V_double a, V_double b) { return _mm256_mul_pd(a, b); }
OP V_double fma_double(V_double a, V_double b, V_double c) { return _mm256_fmadd_pd(a, b, c); }

/* What is loaded here is used more than once: a compiler would load it for each instruction anew. */
OP V_float held_float(V_float a) { __asm__("" : "+x"(a)); return a; }
OP V_double held_double(V_double a) { __asm__("" : "+x"(a)); return a; }

OP V_float load_float32(const float *a) { return held_float(get_float(a)); }
OP V_float round_float32(V_float a) { return a; }
OP void store2_float32(float *to, V_float a, V_float b) { put_float(to, a), put_float(to + 8, b); }
OP void stream2_float32(float *to, V_float a, V_float b) { _mm256_stream_ps(to, a), _mm256_stream_ps(to + 8, b); }

OP V_double load_float64(const double *a) { return held_double(get_double(a)); }
OP V_double round_float64(V_double a) { return a; }
OP void store2_float64(double *to, V_double a, V_double b) { put_double(to, a), put_double(to + 4, b); }
OP void stream2_float64(double *to, V_double a, V_double b) { _mm256_stream_pd(to, a), _mm256_stream_pd(to + 4, b); }

OP __m128i half_of(V_float a) { return _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
OP V_float load_float16(const uint16_t *a) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)a)); }
OP V_float round_float16(V_float a) { return _mm256_cvtph_ps(half_of(a)); }
OP __m256i halves_of(V_float a, V_float b) { return _mm256_set_m128i(half_of(b), half_of(a)); }
OP void store2_float16(uint16_t *to, V_float a, V_float b) { _mm256_storeu_si256((__m256i *)to, halves_of(a, b)); }
OP void stream2_float16(uint16_t *to, V_float a, V_float b) { _mm256_stream_si256((__m256i *)to, halves_of(a, b)); }

/* Without a test for NaN: those that arise here, or come from 16 bits, do not round up into another number. */
OP __m256i brains_of(V_float a)
{
    __m256i bits = _mm256_castps_si256(a);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    return _mm256_srli_epi32(bits, 16);
}

OP __m128i brain_of(V_float a)
{
    __m256i brains = brains_of(a);
    return _mm_packus_epi32(_mm256_castsi256_si128(brains), _mm256_extracti128_si256(brains, 1));
}

OP V_float load_bfloat16(const uint16_t *a)
{
    __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)a));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16));
}
OP V_float round_bfloat16(V_float a) { return _mm256_castsi256_ps(_mm256_slli_epi32(brains_of(a), 16)); }
OP __m256i both_brains_of(V_float a, V_float b)
{
    __m256i mixed = _mm256_packus_epi32(brains_of(a), brains_of(b));
    return _mm256_permute4x64_epi64(mixed, 0xd8); /* packing goes by halves */
}
OP void store2_bfloat16(uint16_t *to, V_float a, V_float b)
{
    _mm256_storeu_si256((__m256i *)to, both_brains_of(a, b));
}
OP void stream2_bfloat16(uint16_t *to, V_float a, V_float b)
{
    _mm256_stream_si256((__m256i *)to, both_brains_of(a, b));
}

OP void stream_line(void *to, const void *from)
{
    _mm256_stream_si256(to, _mm256_loadu_si256(from));
    _mm256_stream_si256((__m256i *)to + 1, _mm256_loadu_si256((const __m256i *)from + 1));
}

/* Adds a block's lanes to eight float64 sums, halves first. */
OP void flush_float(double to[8], const V_float a[4])
{
    __m256 all = _mm256_add_ps(_mm256_add_ps(a[0], a[2]), _mm256_add_ps(a[1], a[3]));
    __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(all)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(all, 1));
    put_double(to, add_double(get_double(to), low));
    put_double(to + 4, add_double(get_double(to + 4), high));
}

OP void flush_double(double to[8], const V_double a[4])
{
    put_double(to, add_double(get_double(to), add_double(a[0], a[2])));
    put_double(to + 4, add_double(get_double(to + 4), add_double(a[1], a[3])));
}

OP void fence(void) { _mm_sfence(); }
