/* Rows of children scored in C: by branches that the processor guesses, which beats vectors up to
   some 96 children; wider rows by AVX-512 where the processor has it. The same doubles in both. */

#ifndef MCTS_CORE_ROWS_H
#define MCTS_CORE_ROWS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && defined(__x86_64__)
#define MCTS_CORE_AVX512 1
#include <immintrin.h>
static int mcts_core_has_avx512; /* set by fill_tables */
#else
#define MCTS_CORE_AVX512 0
#endif

#ifdef __GNUC__
#define MCTS_CORE_INLINE static inline __attribute__((always_inline, unused))
/* Between the branch and what it guards: the compiler must not make a conditional move of them. */
#define MCTS_CORE_KEEP_BRANCH(x) __asm__ volatile("" : "+r"(x))
#else
#define MCTS_CORE_INLINE static inline
#define MCTS_CORE_KEEP_BRANCH(x) ((void)0)
#endif

enum { MCTS_CORE_PUCT = 0, MCTS_CORE_UCB1 = 1, MCTS_CORE_WIDE = 96 };

/* 1 / n, 1 / sqrt(n) and sqrt(ln n) for the visit counts that most nodes have: the same doubles as
   computing them, without the latency of a division and a root for each child. */
#define MCTS_CORE_TABLE 16384
static double mcts_core_reciprocals[MCTS_CORE_TABLE];
static double mcts_core_rsqrts[MCTS_CORE_TABLE];
static double mcts_core_sqrt_logs[MCTS_CORE_TABLE];

MCTS_CORE_INLINE double mcts_core_reciprocal(int32_t n)
{
    return n < MCTS_CORE_TABLE ? mcts_core_reciprocals[n] : 1.0 / n;
}

MCTS_CORE_INLINE double mcts_core_rsqrt(int32_t n)
{
    return n < MCTS_CORE_TABLE ? mcts_core_rsqrts[n] : 1.0 / sqrt(n);
}

MCTS_CORE_INLINE double mcts_core_sqrt_log(int32_t n)
{
    return n < MCTS_CORE_TABLE ? mcts_core_sqrt_logs[n] : sqrt(log(n));
}

/* To be called once by each module that selects. */
MCTS_CORE_INLINE void mcts_core_fill_tables(void)
{
    for (int32_t n = 1; n < MCTS_CORE_TABLE; n++) {
        mcts_core_reciprocals[n] = 1.0 / n;
        mcts_core_rsqrts[n] = 1.0 / sqrt(n);
        mcts_core_sqrt_logs[n] = sqrt(log(n));
    }
#if MCTS_CORE_AVX512
    __builtin_cpu_init();
    mcts_core_has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#endif
}

/* The score of a tried child: its normalised value and its exploration term. PUCT:
   Q + factor P / (1 + n), factor = c sqrt(N). UCB1: Q + factor / sqrt(n), factor = c sqrt(ln N).
   `small`: the tables hold what is looked up. */
MCTS_CORE_INLINE double mcts_core_weighed(int kind, int small, int32_t visits, double value,
                                          float prior, double low, double scale, double factor)
{
    if (kind == MCTS_CORE_PUCT)
        return (value - low) * scale +
               (factor * prior) * (small ? mcts_core_reciprocals[1 + visits]
                                         : mcts_core_reciprocal(1 + visits));
    return (value - low) * scale +
           factor * (small ? mcts_core_rsqrts[visits] : mcts_core_rsqrt(visits));
}

MCTS_CORE_INLINE double mcts_core_score(int kind, int32_t visits, double value, float prior,
                                        double low, double scale, double factor)
{
    return mcts_core_weighed(kind, 0, visits, value, prior, low, scale, factor);
}

/* One child against the best before it. By a branch, not a conditional move: the processor guesses
   the choice and goes on below it. */
#define MCTS_CORE_TRY(i)                                                                           \
    do {                                                                                           \
        double score = mcts_core_weighed(kind, small, visits[i], value[i], prior[i], low, scale,   \
                                         factor);                                                  \
        if (score > top) {                                                                         \
            top = score;                                                                           \
            best = i;                                                                              \
            MCTS_CORE_KEEP_BRANCH(best);                                                           \
        }                                                                                          \
    } while (0)

MCTS_CORE_INLINE int32_t mcts_core_best_by_branches(int kind, int small, const int32_t *visits,
                                                    const double *value, const float *prior,
                                                    int32_t count, double low, double scale,
                                                    double factor, double *best_score)
{
    size_t best = 0, i = 0; /* of the size of a pointer: no widening for each child */
    const size_t n = (size_t)count;
    double top = -INFINITY;
    for (; i + 4 <= n; i += 4) {
        MCTS_CORE_TRY(i);
        MCTS_CORE_TRY(i + 1);
        MCTS_CORE_TRY(i + 2);
        MCTS_CORE_TRY(i + 3);
    }
    for (; i < n; i++)
        MCTS_CORE_TRY(i);
    *best_score = top;
    return (int32_t)best;
}

#if MCTS_CORE_AVX512
#define MCTS_CORE_FOR_AVX512 __attribute__((target("avx512f,avx512vl")))

/* mcts_core_score of eight children, of those in `lanes`. */
MCTS_CORE_FOR_AVX512 MCTS_CORE_INLINE __m512d
mcts_core_scores(int kind, __mmask8 lanes, const int32_t *visits, const double *value,
                 const float *prior, __m512d low, __m512d scale, __m512d factor)
{
    const __m512d one = _mm512_set1_pd(1.0);
    __m256i n = _mm256_maskz_loadu_epi32(lanes, visits);
    __m512d q = _mm512_maskz_loadu_pd(lanes, value), weight;
    const int small = _mm256_cmpge_epi32_mask(n, _mm256_set1_epi32(MCTS_CORE_TABLE - 1)) == 0;
    q = _mm512_mul_pd(_mm512_sub_pd(q, low), scale);
    if (kind == MCTS_CORE_PUCT) {
        __m512d bonus = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, prior));
        bonus = _mm512_mul_pd(factor, bonus);
        if (small)
            weight = _mm512_i32gather_pd(n, mcts_core_reciprocals + 1, 8);
        else
            weight = _mm512_div_pd(one, _mm512_add_pd(one, _mm512_cvtepi32_pd(n)));
        return _mm512_add_pd(q, _mm512_mul_pd(bonus, weight));
    }
    if (small)
        weight = _mm512_i32gather_pd(n, mcts_core_rsqrts, 8);
    else
        weight = _mm512_div_pd(one, _mm512_sqrt_pd(_mm512_cvtepi32_pd(n)));
    return _mm512_add_pd(q, _mm512_mul_pd(factor, weight));
}

/* Each lane keeps its best and where that stood; at the end the first of the equal ones wins. */
MCTS_CORE_FOR_AVX512 MCTS_CORE_INLINE int32_t
mcts_core_best_lanes(int kind, const int32_t *visits, const double *value,
                     const float *prior, int32_t count, double low, double scale, double factor,
                     double *best_score)
{
    const __m512d l = _mm512_set1_pd(low), s = _mm512_set1_pd(scale), f = _mm512_set1_pd(factor);
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512d top = _mm512_set1_pd(-INFINITY);
    __m512i where = _mm512_setzero_si512();
    for (int32_t i = 0; i < count; i += 8) {
        __mmask8 lanes = count - i < 8 ? (__mmask8)((1 << (count - i)) - 1) : 0xff;
        __m512d score = mcts_core_scores(kind, lanes, visits + i, value + i, prior + i,
                                         l, s, f);
        __mmask8 better = _mm512_mask_cmp_pd_mask(lanes, score, top, _CMP_GT_OQ);
        top = _mm512_mask_mov_pd(top, better, score);
        where = _mm512_mask_mov_epi64(where, better, _mm512_set1_epi64(i));
    }
    *best_score = _mm512_reduce_max_pd(top);
    __mmask8 equal = _mm512_cmp_pd_mask(top, _mm512_set1_pd(*best_score), _CMP_EQ_OQ);
    return (int32_t)_mm512_mask_reduce_min_epi64(equal, _mm512_add_epi64(where, lane));
}

MCTS_CORE_FOR_AVX512 static __attribute__((noinline, unused)) int32_t
mcts_core_best_avx512(int kind, const int32_t *visits, const double *value, const float *prior,
                      int32_t count, double low, double scale, double factor, double *best_score)
{
    if (kind == MCTS_CORE_PUCT)
        return mcts_core_best_lanes(MCTS_CORE_PUCT, visits, value, prior, count, low, scale,
                                    factor, best_score);
    return mcts_core_best_lanes(MCTS_CORE_UCB1, visits, value, prior, count, low, scale, factor,
                                best_score);
}
#endif

/* argmax of the score over a row of children [count], the first of equals; -infinity and 0 if there
   is none. No child has more than `most` visits: the tables are read unchecked up to that. */
MCTS_CORE_INLINE int32_t mcts_core_best_of_row(int kind, const int32_t *visits,
                                               const double *value, const float *prior,
                                               int32_t count, int32_t most, double low,
                                               double scale, double factor, double *best_score)
{
#if MCTS_CORE_AVX512
    if (count >= MCTS_CORE_WIDE && mcts_core_has_avx512)
        return mcts_core_best_avx512(kind, visits, value, prior, count, low, scale, factor,
                                     best_score);
#endif
    if (most < MCTS_CORE_TABLE - 1)
        return mcts_core_best_by_branches(kind, 1, visits, value, prior, count, low, scale, factor,
                                          best_score);
    return mcts_core_best_by_branches(kind, 0, visits, value, prior, count, low, scale, factor,
                                      best_score);
}

#endif
