/* The vector operations that rows.h is written in, for AVX-512: a block is two vectors, with the lanes of AVX2's four. */
#include <immintrin.h>

#define ISA __attribute__((target("avx512f,avx2,fma,f16c")))
#define OP ISA static inline __attribute__((always_inline))

typedef __m512 V_float;
typedef __m512d V_double;
enum { LANES_float = 16, LANES_double = 8 };

/* Whether two long rows that are streamed take turns: gamma and beta, read once for both, are then read twice, but more
 * of a row's lines are written one after the other. */
enum { TAKES_TURNS = 1 };

OP V_float set_float(float a) { return _mm512_set1_ps(a); }
OP V_float get_float(const float *a) { return _mm512_loadu_ps(a); }
OP void put_float(float *to, V_float a) { _mm512_storeu_ps(to, a); }
OP V_float add_float(V_float a, V_float b) { return _mm512_add_ps(a, b); }
OP V_float sub_float(V_float a, V_float b) { return _mm512_sub_ps(a, b); }
OP V_float mul_float(V_float a, V_float b) { return _mm512_mul_ps(a, b); }
OP V_float fma_float(V_float a, V_float b, V_float c) { return _mm512_fmadd_ps(a, b, c); }

OP V_double set_double(double a) { return _mm512_set1_pd(a); }
OP V_double get_double(const double *a) { return _mm512_loadu_pd(a); }
OP void put_double(double *to, V_double a) { _mm512_storeu_pd(to, a); }
OP V_double add_double(V_double a, V_double b) { return _mm512_add_pd(a, b); }
OP V_double sub_double(V_double a, V_double b) { return _mm512_sub_pd(a, b); }
OP V_double mul_double(V_double a, V_double b) { return _mm512_mul_pd(a, b); }
OP V_double fma_double(V_double a, V_double b, V_double c) { return _mm512_fmadd_pd(a, b, c); }

OP __m512i line_of(__m256i low, __m256i high) { return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1); }

/* What is loaded here is used more than once: a compiler would load it for each instruction anew. */
OP V_float held_float(V_float a) { __asm__("" : "+v"(a)); return a; }
OP V_double held_double(V_double a) { __asm__("" : "+v"(a)); return a; }

OP V_float load_float32(const float *a) { return held_float(get_float(a)); }
OP V_float round_float32(V_float a) { return a; }
OP void store2_float32(float *to, V_float a, V_float b) { put_float(to, a), put_float(to + 16, b); }
OP void stream2_float32(float *to, V_float a, V_float b) { _mm512_stream_ps(to, a), _mm512_stream_ps(to + 16, b); }

OP V_double load_float64(const double *a) { return held_double(get_double(a)); }
OP V_double round_float64(V_double a) { return a; }
OP void store2_float64(double *to, V_double a, V_double b) { put_double(to, a), put_double(to + 8, b); }
OP void stream2_float64(double *to, V_double a, V_double b) { _mm512_stream_pd(to, a), _mm512_stream_pd(to + 8, b); }

OP __m256i half_of(V_float a) { return _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
OP V_float load_float16(const uint16_t *a) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)a)); }
OP V_float round_float16(V_float a) { return _mm512_cvtph_ps(half_of(a)); }
OP void store2_float16(uint16_t *to, V_float a, V_float b) { _mm512_storeu_si512(to, line_of(half_of(a), half_of(b))); }
OP void stream2_float16(uint16_t *to, V_float a, V_float b) { _mm512_stream_si512((void *)to, line_of(half_of(a), half_of(b))); }

/* As in AVX2, without a test for NaN. */
OP __m512i brains_of(V_float a)
{
    __m512i bits = _mm512_castps_si512(a);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_srli_epi32(bits, 16);
}

OP V_float load_bfloat16(const uint16_t *a)
{
    __m512i bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)a));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
}
OP V_float round_bfloat16(V_float a) { return _mm512_castsi512_ps(_mm512_slli_epi32(brains_of(a), 16)); }
OP __m512i brain_line_of(V_float a, V_float b)
{
    return line_of(_mm512_cvtepi32_epi16(brains_of(a)), _mm512_cvtepi32_epi16(brains_of(b)));
}
OP void store2_bfloat16(uint16_t *to, V_float a, V_float b) { _mm512_storeu_si512(to, brain_line_of(a, b)); }
OP void stream2_bfloat16(uint16_t *to, V_float a, V_float b) { _mm512_stream_si512((void *)to, brain_line_of(a, b)); }

OP void stream_line(void *to, const void *from) { _mm512_stream_si512(to, _mm512_loadu_si512(from)); }

/* Adds a block's lanes to eight float64 sums, halves first. */
OP void flush_float(double to[8], const V_float a[2])
{
    __m512d both = _mm512_castps_pd(add_float(a[0], a[1]));
    __m256 low = _mm256_castpd_ps(_mm512_castpd512_pd256(both)), high = _mm256_castpd_ps(_mm512_extractf64x4_pd(both, 1));
    put_double(to, add_double(get_double(to), _mm512_cvtps_pd(_mm256_add_ps(low, high))));
}

OP void flush_double(double to[8], const V_double a[2])
{
    put_double(to, add_double(get_double(to), add_double(a[0], a[1])));
}

OP void fence(void) { _mm_sfence(); }
