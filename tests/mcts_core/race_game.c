/* Connect four as C functions for race_script.py: what numba compiles, a thread sanitizer cannot see.
   The types are those of mcts_core/native.pxd. */

#include <stdint.h>

typedef struct {
    uint64_t mine, theirs; /* stones, bit 7 * column + row; the mover's first */
} Board;

#define BOTTOM 0x40810204081ULL /* the lowest place of each column */

int32_t legal(void *context, const void *state, int32_t *actions, int32_t capacity) {
    const Board *board = state;
    int32_t count = 0;
    (void)context;
    for (int32_t column = 0; column < 7; column++)
        if (((board->mine | board->theirs) >> (7 * column + 5) & 1) == 0) {
            if (count < capacity)
                actions[count] = column;
            count++;
        }
    return count;
}

static int four_in_a_row(uint64_t stones) {
    static const int directions[4] = {1, 6, 7, 8};
    for (int i = 0; i < 4; i++) {
        const uint64_t pairs = stones & (stones >> directions[i]);
        if (pairs & (pairs >> 2 * directions[i]))
            return 1;
    }
    return 0;
}

int32_t step(void *context, const void *state, int32_t action, uint64_t *rng, void *next_state,
             double *reward, int32_t *outcome) {
    const Board *board = state;
    Board *next = next_state;
    const uint64_t taken = board->mine | board->theirs;
    const uint64_t stone = (taken + BOTTOM) & (0x3FULL << 7 * action);
    const uint64_t stones = board->mine | stone;
    const int won = four_in_a_row(stones);
    (void)context;
    (void)rng;
    next->mine = board->theirs;
    next->theirs = stones;
    *reward = won;
    *outcome = 0;
    return 2 + (won || (taken | stone) == BOTTOM * 0x3F); /* STEP_TURN, STEP_TERMINAL */
}
