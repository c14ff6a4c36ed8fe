"""A SearchConfig as the numbers that the loop over the simulations reads."""

from libc.math cimport INFINITY
from libc.stdint cimport uintptr_t

from mcts_core.errors import ConfigError

from mcts_core.context cimport (EVALUATE_DECISIVE, EVALUATE_FORCED, EVALUATE_ROLLOUT,
                                EVALUATE_SIMULATOR, Simulation, Widening)
from mcts_core.selection cimport (FPU_FIRST, FPU_NUMBER, FPU_PARENT, RULE_GUMBEL, RULE_PUCT,
                                  RULE_ROW, RULE_UCB1, RULE_UCB1_TUNED, rescale, row_t)
from mcts_core.tree cimport COLUMN_HOME, COLUMN_IN_FLIGHT, COLUMN_RAW, COLUMN_SQUARE

cdef dict KINDS = {"puct": RULE_PUCT, "ucb1": RULE_UCB1, "ucb1_tuned": RULE_UCB1_TUNED,
                   "gumbel": RULE_GUMBEL}
cdef dict EVALUATIONS = {"simulator": EVALUATE_SIMULATOR, "forced": EVALUATE_FORCED,
                         "rollout": EVALUATE_ROLLOUT, "decisive": EVALUATE_DECISIVE}


cdef int columns_of(object config, object rule, bint shared):
    cdef int columns = COLUMN_IN_FLIGHT if shared else 0
    if config.selection == "ucb1_tuned" or (rule is not None and rule.uses_variance):
        columns |= COLUMN_SQUARE
    if config.selection == "gumbel" or config.root == "gumbel" \
            or (config.normalisation == "node" and config.value_range is None):
        columns |= COLUMN_RAW
    if config.transpositions:
        columns |= COLUMN_HOME
    return columns


cdef size_t limit_of(object config):
    return 0 if config.memory_limit_mb is None else max(1, <size_t>(config.memory_limit_mb * 1e6))


cdef int take_settings(Simulation *s, object config, object rule) except -1:
    s.rule.kind = KINDS.get(config.selection, RULE_ROW)
    if rule is not None:
        s.rule.row = <row_t><uintptr_t>rule.address
    s.rule.fpu_kind = {"first": FPU_FIRST, "parent": FPU_PARENT}.get(config.fpu, FPU_NUMBER)
    s.rule.fpu = config.fpu if s.rule.fpu_kind == FPU_NUMBER else 0.0
    s.rule.exploration = config.exploration
    s.rule.base = config.exploration_base or 0.0
    s.rule.by_node = config.normalisation == "node"
    s.rule.fixed_range = config.value_range is not None
    s.rule.low = INFINITY
    s.rule.high = -INFINITY
    if s.rule.fixed_range:
        s.rule.low, s.rule.high = config.value_range
    rescale(&s.rule)
    s.evaluation = EVALUATIONS[config.evaluation]
    if s.evaluation == EVALUATE_DECISIVE and s.table.outcomes != NULL:
        raise ConfigError("evaluation", config.evaluation, "another one: this simulator has chance "
                          "(or lists outcomes), and no move is sure to end the world")
    s.max_depth = config.max_depth
    s.discount = config.discount
    s.prior_mix = config.prior_mix
    s.solver = config.solver
    s.expected = config.chance == "expected" and s.table.probabilities != NULL
    take_widening(&s.widening, config.widening)
    take_widening(&s.chance_widening, config.chance_widening)
    s.virtual_loss = config.virtual_loss
    s.value_scale = config.value_scale
    s.visit_scale = config.visit_scale
    s.mixed_value = config.mixed_value
    s.rescale = config.rescale_values
    s.halving.on = config.root == "gumbel"
    s.early_stop = config.early_stop and not s.solver and not s.halving.on
    s.rng = config.seed
    s.plain = s.rule.kind in (RULE_PUCT, RULE_UCB1) and s.rule.base == 0.0 \
        and (s.rule.fixed_range or not s.rule.by_node) and s.widening.k == 0.0 \
        and not s.halving.on and s.arena.columns & ~COLUMN_SQUARE == 0
    return 0


cdef void take_widening(Widening *widening, object pair):
    widening.k, widening.alpha = (0.0, 0.0) if pair is None else pair
