"""The root: its actions and their prior, noise, and what a Gumbel root needs."""

from libc.math cimport INFINITY, cos, exp, log, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport malloc

import numpy as np

from mcts_core.errors import ConfigError

from mcts_core.context cimport Simulation
from mcts_core.expansion cimport expand, reweigh
from mcts_core.gumbel cimport plan_phase
from mcts_core.rng cimport uniform
from mcts_core.tree cimport NODE_SETTLED, Arena


cdef object prior_array(object prior):
    if prior is None:
        return None
    try:
        weights = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise ConfigError("prior", prior, "a sequence of numbers") from None
    if weights.ndim != 1:
        raise ConfigError("prior", f"shape {weights.shape}", "one dimension")
    for i, weight in enumerate(weights.tolist()):
        if not 0.0 <= weight <= 1e150:
            raise ConfigError(f"prior[{i}]", weight, "a weight from 0 to 1e150")
    return weights


cdef int open_root(Simulation *s, object weights) except? -2:
    cdef Arena *tree = &s.arena
    cdef int status
    cdef int32_t count, i
    if tree.node[0].child_count > 0 or tree.flags[0] & NODE_SETTLED:
        return 0
    status = expand(s, 0, weights is None)
    count = tree.node[0].child_count
    if status < 0 or weights is None or count == 0:
        return status
    if len(weights) != count:
        tree.node[0].child_count = 0
        tree.size = 1
        raise ConfigError("prior", f"{len(weights)} weights",
                          f"one for each of the root's {count} actions")
    for i in range(count):
        s.weights[i] = weights[i]
    return reweigh(s, 0)


cdef int prepare_root(Simulation *s, object config) except -1:
    cdef int32_t count = s.arena.node[0].child_count
    if count == 0:
        return 0
    if config.noise_fraction > 0.0:
        add_noise(s, count, config.noise_fraction, config.noise_alpha)
    if s.halving.on and s.halving.scores == NULL:
        begin_halving(s, count, config)
    return 0


cdef int add_noise(Simulation *s, int32_t count, double fraction, double alpha) except -1:
    """(1 - e) P + e Dirichlet(alpha) (Silver et al. 2017, AlphaGo Zero, Methods, "Search"); a
    Dirichlet sample is gamma samples over their sum."""
    cdef int32_t first = s.arena.node[0].first_child, i
    cdef double total = 0.0
    cdef double[::1] noise = np.empty(count)
    for i in range(count):
        noise[i] = gamma(&s.rng, alpha)
        total += noise[i]
    for i in range(count):
        noise[i] = (1.0 - fraction) * s.arena.prior[first + i] + fraction * (
            noise[i] / total if total > 0.0 else 1.0 / count)
    tried = list(range(s.arena.node[0].tried))
    order = tried + sorted(range(len(tried), count), key=lambda i: -noise[i])
    reorder(s, order)
    for i in range(count):
        s.arena.prior[first + i] = <float>noise[<int32_t>order[i]]
    return 0


cdef double gamma(uint64_t *rng, double alpha) noexcept nogil:
    """A gamma sample of scale 1 (Marsaglia & Tsang 2000, "A simple method for generating gamma
    variables"; below 1 by their section 6)."""
    cdef double d, c, x, v
    if alpha < 1.0:
        return gamma(rng, alpha + 1.0) * exp(log(1.0 - uniform(rng)) / alpha)
    d = alpha - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    while True:
        x = normal(rng)
        v = 1.0 + c * x
        if v > 0.0:
            v = v * v * v
            if log(1.0 - uniform(rng)) < 0.5 * x * x + d - d * v + d * log(v):
                return d * v


cdef double normal(uint64_t *rng) noexcept nogil:
    """A standard normal sample (Box & Muller 1958)."""
    cdef double radius = sqrt(-2.0 * log(1.0 - uniform(rng)))
    return radius * cos(6.283185307179586 * uniform(rng))


cdef int begin_halving(Simulation *s, int32_t count, object config) except -1:
    """Draw Gumbel noise, order the children by it plus their logits, plan the first round
    (Danihelka et al. 2022, algorithm 2)."""
    cdef int32_t first = s.arena.node[0].first_child, i
    cdef double largest = -INFINITY
    cdef double[::1] scores = np.empty(count)
    s.halving.scores = <double *>malloc(<size_t>count * sizeof(double))
    if s.halving.scores == NULL:
        raise MemoryError("no memory for a search tree")
    for i in range(count):
        scores[i] = logit(s.arena.prior[first + i])
        largest = max(largest, scores[i])
    for i in range(count):
        scores[i] = scores[i] - largest - config.gumbel_scale * log(
            -log(uniform(&s.rng) + 1e-300) + 1e-300)
    order = sorted(range(count), key=lambda i: -scores[i])
    reorder(s, order)
    for i in range(count):
        s.halving.scores[i] = scores[<int32_t>order[i]]
    s.halving.most = min(count, config.considered_actions)
    s.halving.planned = config.simulations
    plan_phase(&s.halving, s.halving.most)
    return 0


cdef double logit(float prior) noexcept nogil:
    return log(prior) if prior > 0.0 else -1e9


cdef void reorder(Simulation *s, list order):
    """Put the offers of the root into another order (tried children stay where they are)."""
    cdef int32_t first = s.arena.node[0].first_child, i
    cdef list priors = [s.arena.prior[first + i] for i in range(len(order))]
    cdef list actions = [s.arena.action[first + i] for i in range(len(order))]
    for i in range(len(order)):
        s.arena.prior[first + i] = priors[<int32_t>order[i]]
        s.arena.action[first + i] = actions[<int32_t>order[i]]
