/* The floor's tree: the arena, scores of a row of children, choice and backup.

   A block holds a node's children: an edge of 16 bytes each, then a row of values and a row of
   weights (1 / sqrt(n), or P / (1 + n)) that the backup keeps, so that a score is one product and
   one sum. Only tried children are ever written or read: they are a prefix. The arena and the
   tables are allocated once and kept between runs. Rows are AVX-512 vectors of 8 doubles where the
   compiler has them, else plain loops (which a narrow row on the way down is in any case). */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)

enum { CONNECT_FOUR = 0, TREE_UCB1 = 1, TREE_PUCT = 2 };
enum { UNEXPANDED = -1, SETTLED = -2 };
enum { LANES = 8, MAX_DEPTH = 64, NO_MEMORY = -1, BAD_ARGUMENT = -2 };

typedef struct { /* one child as its parent sees it */
    int32_t block; /* its own children's block, UNEXPANDED or SETTLED */
    int32_t next;  /* which of its children is chosen next, if that is fixed ahead */
    int32_t visits;
    int32_t count; /* how many children it has */
} Edge;

typedef struct { /* a block: edges [width], values [width], weights [width] */
    char *memory;
    size_t capacity, size, stride; /* bytes */
    int32_t width;                 /* a multiple of LANES */
} Arena;

static Arena arena;

typedef struct { /* compile-time constants wherever the functions below are inlined */
    int rule;
    int32_t width;
    double prior, exploration, low, scale;
    int ahead; /* choose at the backup before, not on the way down */
} Rule;

/* --- tables: the same doubles as computing them ------------------------------------------------ */

#define TABLE (1 << 16)
static double reciprocals[TABLE], rsqrts[TABLE], sqrt_logs[TABLE];

INLINE double reciprocal(int32_t n) { return LIKELY(n < TABLE) ? reciprocals[n] : 1.0 / n; }
INLINE double rsqrt(int32_t n) { return LIKELY(n < TABLE) ? rsqrts[n] : 1.0 / sqrt(n); }
INLINE double sqrt_log(int32_t n) { return LIKELY(n < TABLE) ? sqrt_logs[n] : sqrt(log(n)); }

static void fill_tables(void)
{
    if (reciprocals[1] == 1.0)
        return;
    for (int32_t n = 1; n < TABLE; n++) {
        reciprocals[n] = 1.0 / n;
        rsqrts[n] = 1.0 / sqrt(n);
        sqrt_logs[n] = sqrt(log(n));
    }
}

/* --- the arena --------------------------------------------------------------------------------- */

INLINE Edge *edges_of(int32_t block) { return (Edge *)(arena.memory + (size_t)block * arena.stride); }
INLINE double *values_of(Edge *edges, int32_t width) { return (double *)(edges + width); }
INLINE double *weights_of(Edge *edges, int32_t width) { return (double *)(edges + width) + width; }

/* Empty the arena for `blocks` blocks. Only the first run that needs a page touches it anew. */
static int arena_reset(int32_t children, int64_t blocks)
{
    arena.width = (children + LANES - 1) / LANES * LANES;
    arena.stride = (size_t)arena.width * (sizeof(Edge) + 2 * sizeof(double));
    arena.size = 0;
    size_t wanted = arena.stride * (size_t)blocks;
    if (wanted > arena.capacity) {
        free(arena.memory);
        arena.capacity = 0;
        if (posix_memalign((void **)&arena.memory, 4096, wanted) != 0)
            return NO_MEMORY;
        arena.capacity = wanted;
    }
    return 0;
}

/* A block for `count` children. Lanes past them never win; children are written when first tried. */
INLINE int32_t new_block(int32_t count, int32_t width)
{
    int32_t block = (int32_t)(arena.size / arena.stride);
    Edge *edges = edges_of(block);
    for (int32_t i = count; i < width; i++) {
        values_of(edges, width)[i] = -INFINITY;
        weights_of(edges, width)[i] = 0.0;
    }
    arena.size += arena.stride;
    return block;
}

/* --- selection: argmax of (value - low) * scale + factor * weight, the first of equals ---------- */

/* Branches, not conditional moves: the processor guesses the choice and goes on below it, which on
   the way down beats any vector as long as a row is narrow. */
INLINE int32_t first_best_branching(const double *value, const double *weight, int32_t width,
                                    double low, double scale, double factor)
{
    int32_t best = 0;
    double best_score = -INFINITY;
    for (int32_t i = 0; i < width; i++) {
        double score = (value[i] - low) * scale + factor * weight[i];
        if (score > best_score) {
            best_score = score;
            best = i;
            __asm__ volatile("" : "+r"(best)); /* keeps the branch */
        }
    }
    return best;
}

#ifdef __AVX512F__
INLINE __m512d scores(__m512d value, __m512d weight, double low, double scale, __m512d factor)
{
    __m512d q = _mm512_mul_pd(_mm512_sub_pd(value, _mm512_set1_pd(low)), _mm512_set1_pd(scale));
    return _mm512_add_pd(q, _mm512_mul_pd(factor, weight));
}

INLINE int32_t first_best_lane(__m512d score)
{
    __m512d best = _mm512_max_pd(score, _mm512_shuffle_f64x2(score, score, 0x4e));
    best = _mm512_max_pd(best, _mm512_shuffle_f64x2(best, best, 0xb1));
    best = _mm512_max_pd(best, _mm512_permute_pd(best, 0x55));
    return __builtin_ctz(_mm512_cmp_pd_mask(score, best, _CMP_EQ_OQ));
}

INLINE int32_t best_child(const double *value, const double *weight, int32_t width, double low,
                          double scale, double factor)
{
    const __m512d f = _mm512_set1_pd(factor);
    if (width == LANES)
        return first_best_lane(scores(_mm512_load_pd(value), _mm512_load_pd(weight), low, scale, f));
    /* Per lane the best so far and the vector that it stood in; four vectors in flight. */
    enum { FLIGHT = 4 };
    __m512d best[FLIGHT];
    __m512i where[FLIGHT];
    for (int k = 0; k < FLIGHT; k++) {
        best[k] = _mm512_set1_pd(-INFINITY);
        where[k] = _mm512_setzero_si512();
    }
    int32_t i = 0;
    for (; i + FLIGHT * LANES <= width; i += FLIGHT * LANES) {
        for (int k = 0; k < FLIGHT; k++) {
            int32_t at = i + k * LANES;
            __m512d score = scores(_mm512_load_pd(value + at), _mm512_load_pd(weight + at), low,
                                   scale, f);
            __mmask8 better = _mm512_cmp_pd_mask(score, best[k], _CMP_GT_OQ);
            best[k] = _mm512_mask_mov_pd(best[k], better, score);
            where[k] = _mm512_mask_mov_epi64(where[k], better, _mm512_set1_epi64(at));
        }
    }
    for (; i < width; i += LANES) {
        __m512d score = scores(_mm512_load_pd(value + i), _mm512_load_pd(weight + i), low, scale, f);
        __mmask8 better = _mm512_cmp_pd_mask(score, best[0], _CMP_GT_OQ);
        best[0] = _mm512_mask_mov_pd(best[0], better, score);
        where[0] = _mm512_mask_mov_epi64(where[0], better, _mm512_set1_epi64(i));
    }
    __m512d top = _mm512_max_pd(_mm512_max_pd(best[0], best[1]), _mm512_max_pd(best[2], best[3]));
    const __m512d highest = _mm512_set1_pd(_mm512_reduce_max_pd(top));
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    __m512i first = _mm512_set1_epi64(width);
    for (int k = 0; k < FLIGHT; k++)
        first = _mm512_mask_min_epi64(first, _mm512_cmp_pd_mask(best[k], highest, _CMP_EQ_OQ), first,
                                      _mm512_add_epi64(where[k], lane));
    return (int32_t)_mm512_reduce_min_epi64(first);
}

/* row[i] = x through a whole vector: a later vector load finds it in the store buffer. */
INLINE void put(double *row, int32_t i, double x)
{
    double *at = row + i / LANES * LANES;
    __mmask8 lane = (__mmask8)(1 << i % LANES);
    _mm512_store_pd(at, _mm512_mask_mov_pd(_mm512_load_pd(at), lane, _mm512_set1_pd(x)));
}
#else
INLINE int32_t best_child(const double *value, const double *weight, int32_t width, double low,
                          double scale, double factor)
{
    return first_best_branching(value, weight, width, low, scale, factor);
}

INLINE void put(double *row, int32_t i, double x) { row[i] = x; }
#endif

/* --- choice and backup ------------------------------------------------------------------------ */

/* Each child once before any twice, then the best. `passes`: visits that went on below `node`. */
INLINE int32_t choose(const Rule *rule, const Edge *node, Edge *edges, int32_t passes)
{
    if (passes < node->count)
        return passes;
    const int32_t width = rule->width;
    const double *values = values_of(edges, width), *weights = weights_of(edges, width);
    const double bonus = rule->rule == TREE_PUCT ? sqrt(node->visits) : sqrt_log(node->visits);
    const double factor = rule->exploration * bonus;
    if (!rule->ahead && width == LANES)
        return first_best_branching(values, weights, width, rule->low, rule->scale, factor);
    return best_child(values, weights, width, rule->low, rule->scale, factor);
}

/* Count one more visit of child i. */
INLINE void count_visit(const Rule *rule, Edge *edges, int32_t i, double value)
{
    double *values = values_of(edges, rule->width), *weights = weights_of(edges, rule->width);
    int32_t n = ++edges[i].visits;
    double mean = n == 1 ? 0.0 : values[i]; /* what was never tried holds anything */
    put(values, i, mean + (value - mean) * reciprocal(n));
    put(weights, i, rule->rule == TREE_PUCT ? rule->prior * reciprocal(1 + n) : rsqrt(n));
}

typedef struct { /* of one simulation: [level] the node, its children, and the child chosen */
    Edge *node[MAX_DEPTH], *edges[MAX_DEPTH];
    int32_t chosen[MAX_DEPTH];
    int32_t length;
} Path;

/* Extend the path by one level, with new children if need be. True if the child is a new one. */
INLINE int descend(const Rule *rule, Path *path, Edge *node, int32_t count)
{
    const int32_t level = path->length++;
    const int32_t passes = node->visits - 1; /* its own evaluation */
    if (node->block == UNEXPANDED) {
        node->block = new_block(count, rule->width);
        node->count = count;
        node->next = 0;
    }
    Edge *edges = edges_of(node->block);
    path->node[level] = node;
    path->edges[level] = edges;
    path->chosen[level] = rule->ahead ? node->next : choose(rule, node, edges, passes);
    return passes < node->count;
}

/* Carry a return up the path. `value` is for the root's player; `sign` -1 if players alternate. */
INLINE void back_up(const Rule *rule, const Path *path, double value, double sign)
{
    path->node[0]->visits++;
    for (int32_t i = 0; i < path->length; i++, value *= sign) {
        Edge *node = path->node[i], *edges = path->edges[i];
        count_visit(rule, edges, path->chosen[i], value);
        if (rule->ahead)
            node->next = choose(rule, node, edges, node->visits - 1);
    }
}
