/* The floor: a tree search written by hand for one world at a time, to know what speed is left.

   The same search as ours by default (mcts_core/reference.py): each action once first, then the
   highest score, the first of equals; children at a node's second visit; mean backup, discount 1.
   Visits are int32, values double. Specialised: the range of values is known ([-1, 1] in connect
   four, [0, 1] in the tree), priors are uniform, rewards come at the end only, and no state is
   kept: connect four replays the moves. For one seed it grows the engine's own tree of connect
   four, draw for draw.

   In two forms. "On the way down": the textbook's, a node's children are scored when the descent
   stands there. "Ahead": a node's row changes only when the search passes through it, so its next
   choice can be fixed at that backup. The descent is left with following links, and the rows of
   all levels are scored side by side instead of one after the other. Same tree. */

#include <time.h>

#include "floor_tree.h"

/* --- the tree alone: every leaf is worth 0.5 --------------------------------------------------- */

INLINE void tree_run(const Rule *rule, Edge *root, int32_t branching, int32_t depth,
                     int32_t simulations)
{
    Path path;
    for (int32_t done = 0; done < simulations; done++) {
        Edge *node = root;
        path.length = 0;
        for (;;) {
            int is_new = descend(rule, &path, node, branching);
            const int32_t last = path.length - 1;
            node = &path.edges[last][path.chosen[last]];
            if (is_new)
                *node = (Edge){UNEXPANDED, 0, 0, 0};
            if (is_new || path.length == depth)
                break;
        }
        back_up(rule, &path, 0.5, 1.0);
    }
}

/* --- connect four: column c, height h is bit 7 c + h ------------------------------------------- */

#define COLUMN UINT64_C(0x7f)
#define EACH_COLUMN UINT64_C(0x40810204081) /* the lowest square of each column */
#define BOARD (EACH_COLUMN * 0x3f)

INLINE uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

INLINE int line(uint64_t stones)
{
    uint64_t up = stones & (stones >> 1), across = stones & (stones >> 7);
    uint64_t falling = stones & (stones >> 6), rising = stones & (stones >> 8);
    return ((up & (up >> 2)) | (across & (across >> 14)) | (falling & (falling >> 12)) |
            (rising & (rising >> 16))) != 0;
}

/* The squares on which a stone can land: one bit in each column that has room. */
INLINE uint64_t moves_at(uint64_t taken) { return (taken + EACH_COLUMN) & BOARD; }

/* The k-th lowest bit of `set`. */
INLINE uint64_t kth_bit(uint64_t set, uint32_t k)
{
#ifdef __BMI2__
    return __builtin_ia32_pdep_di(UINT64_C(1) << k, set);
#else
    while (k--)
        set &= set - 1;
    return set & -set;
#endif
}

/* Uniform legal moves to the end: 1, 0 or -1 for the player who moves first here. */
INLINE int rollout(uint64_t mine, uint64_t taken, uint64_t *rng)
{
    int sign = 1;
    for (;;) {
        uint64_t moves = moves_at(taken), stone;
        if (moves == 0)
            return 0;
        uint32_t count = (uint32_t)__builtin_popcountll(moves), k = 0;
        if (LIKELY(count == 7)) /* predicted, so that the draw need not wait for the board */
            stone = moves & (COLUMN << 7 * ((splitmix64(rng) >> 32) * 7 >> 32));
        else {
            if (count > 1)
                k = (uint32_t)((splitmix64(rng) >> 32) * count >> 32);
            stone = kth_bit(moves, k);
        }
        if (line(mine | stone))
            return sign;
        mine ^= taken; /* now the other player's stones */
        taken |= stone;
        sign = -sign;
    }
}

INLINE void connect_four_run(const Rule *rule, Edge *root, int32_t simulations, uint64_t seed)
{
    Path path;
    uint64_t rng = seed;
    for (int32_t done = 0; done < simulations; done++) {
        Edge *node = root;
        uint64_t mine = 0, taken = 0;
        double value; /* for the player who made the last move */
        path.length = 0;
        for (;;) {
            const uint64_t moves = moves_at(taken);
            int is_new = descend(rule, &path, node, __builtin_popcountll(moves));
            const int32_t last = path.length - 1, i = path.chosen[last];
            const uint64_t stone = kth_bit(moves, (uint32_t)i), stones = mine | stone;
            node = &path.edges[last][i];
            mine ^= taken;
            taken |= stone;
            if (is_new) {
                const int won = line(stones), ended = won || taken == BOARD;
                *node = (Edge){ended ? SETTLED : UNEXPANDED, 0, 0, 0};
                value = ended ? won : -rollout(mine, taken, &rng);
                break;
            }
            if (node->block == SETTLED) {
                value = values_of(path.edges[last], LANES)[i];
                break;
            }
        }
        back_up(rule, &path, path.length % 2 ? value : -value, -1.0);
    }
}

/* --- what Python calls ------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Each combination of the constants is a program of its own. */
INLINE void run_once(Edge *root, int kind, int32_t branching, int32_t depth, int32_t simulations,
                     uint64_t seed, double exploration, int ahead)
{
    const double prior = (float)(1.0 / branching); /* priors are kept in single precision */
    const int32_t width = arena.width;
    if (kind == CONNECT_FOUR)
        connect_four_run(&(Rule){TREE_UCB1, LANES, 0.0, exploration, -1.0, 0.5, ahead}, root,
                         simulations, seed);
    else if (kind == TREE_UCB1 && branching == LANES)
        tree_run(&(Rule){TREE_UCB1, LANES, 0.0, exploration, 0.0, 1.0, ahead}, root, LANES, depth,
                 simulations);
    else if (kind == TREE_PUCT && branching == LANES)
        tree_run(&(Rule){TREE_PUCT, LANES, prior, exploration, 0.0, 1.0, ahead}, root, LANES, depth,
                 simulations);
    else if (kind == TREE_UCB1)
        tree_run(&(Rule){TREE_UCB1, width, 0.0, exploration, 0.0, 1.0, ahead}, root, branching,
                 depth, simulations);
    else
        tree_run(&(Rule){TREE_PUCT, width, prior, exploration, 0.0, 1.0, ahead}, root, branching,
                 depth, simulations);
}

/* The most blocks that can be needed: each takes a visit that makes its node and one that expands
   it, and there is one for each inner node at most. */
static int64_t blocks_needed(int32_t branching, int32_t depth, int32_t simulations)
{
    const int64_t by_visits = (int64_t)simulations / 2 + 2;
    int64_t inner = 1, level = 1;
    for (int32_t d = 1; d < depth && inner < by_visits; d++)
        inner += level *= branching;
    return inner < by_visits ? inner : by_visits;
}

/* Search `repeats` times from scratch, in an arena that is kept from run to run and call to call.
   kind, branching (connect four: 7), depth, simulations and seed say what; `exploration` is in
   units of the range of values, as in SearchConfig; `ahead` is which form. Fills seconds [repeats]
   and root_visits [branching]. Returns the tree's size in bytes, or a negative status. Not for
   several threads. */
int64_t floor_search(int kind, int32_t branching, int32_t depth, int32_t simulations, uint64_t seed,
                     double exploration, int ahead, int32_t repeats, double *seconds,
                     int32_t *root_visits)
{
    if (kind < CONNECT_FOUR || kind > TREE_PUCT || branching < 1 || branching > 65536 ||
        depth < 1 || depth > MAX_DEPTH || simulations < 1 || (kind == CONNECT_FOUR && branching != 7))
        return BAD_ARGUMENT;
    if (kind == CONNECT_FOUR)
        depth = MAX_DEPTH;
    fill_tables();
    for (int32_t run = 0; run < repeats; run++) {
        const double start = now();
        Edge root = {UNEXPANDED, 0, 1, 0}; /* evaluated, as every node is */
        if (arena_reset(branching, blocks_needed(branching, depth, simulations)) < 0)
            return NO_MEMORY;
        if (ahead)
            run_once(&root, kind, branching, depth, simulations, seed, exploration, 1);
        else
            run_once(&root, kind, branching, depth, simulations, seed, exploration, 0);
        seconds[run] = now() - start;
        const Edge *edges = edges_of(root.block);
        for (int32_t i = 0; i < branching; i++)
            root_visits[i] = i < simulations ? edges[i].visits : 0;
    }
    return (int64_t)arena.size;
}

/* Play random games from the empty board; count those that the first player won, drew and lost in
   outcomes [3]. Returns the seconds that they took. */
double floor_rollouts(int32_t games, uint64_t seed, int64_t *outcomes)
{
    const double start = now();
    uint64_t rng = seed;
    for (int32_t game = 0; game < games; game++)
        outcomes[1 - rollout(0, 0, &rng)]++;
    return now() - start;
}

/* Whether rows are scored by AVX-512. */
int floor_vector(void)
{
#ifdef __AVX512F__
    return 1;
#else
    return 0;
#endif
}
