"""The best child of a row, found again and again without Python in between: by the engine's own C
kernel, and by a rule given by its address. test_scoring_rows.py compiles this."""

from libc.math cimport log, sqrt
from libc.stdint cimport int32_t, uintptr_t

from mcts_core.selection cimport RULE_PUCT, RULE_UCB1, best_of_row, fill_tables, row_t

fill_tables()


def own_rows(bint puct, int repeats, const int32_t[::1] visits, const double[::1] value,
             const float[::1] prior, int32_t parent_visits, double exploration):
    cdef double best_score = 0.0, low = 0.0, factor
    cdef int32_t count = visits.shape[0], best = 0
    cdef int _i
    with nogil:
        for _i in range(repeats):
            if puct:
                factor = exploration * sqrt(<double>parent_visits)
                best = best_of_row(RULE_PUCT, &visits[0], &value[0], &prior[0], count,
                                   parent_visits, low, 1.0, factor, &best_score)
            else:
                factor = exploration * sqrt(log(<double>parent_visits))
                best = best_of_row(RULE_UCB1, &visits[0], &value[0], &prior[0], count,
                                   parent_visits, low, 1.0, factor, &best_score)
            low = 0.0 * best_score      # each waits for the one before, and none is left out
    return best, best_score


def given_rows(uintptr_t address, int repeats, const int32_t[::1] visits, const double[::1] value,
               const float[::1] prior, int32_t parent_visits, double exploration):
    cdef row_t row = <row_t>address
    cdef double best_score = 0.0, low = 0.0
    cdef int32_t count = visits.shape[0], best = 0
    cdef int _i
    with nogil:
        for _i in range(repeats):
            best = row(&visits[0], &value[0], NULL, &prior[0], count, parent_visits, low, 1.0,
                       exploration, &best_score)
            low = 0.0 * best_score
    return best, best_score
