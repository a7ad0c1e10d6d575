"""Optimisers, each three functions: of the parameters, of a gradient, of the state.

An optimiser is written for one array; `optimizer` makes it one for a tree of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import effax.numpy as jnp
from effax.effects.tree import (
    register_pytree_node,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "Schedule",
    "State",
    "Step",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]
__dir__ = __all__.copy

Step = Any
State = Any
Schedule = Callable[[Step], Any]


@dataclass
class OptimizerState:
    """The state of an optimiser: the states of all arrays, and the trees they came from."""

    packed_state: Sequence[Any]
    tree_def: Any
    subtree_defs: Sequence[Any]

    def __post_init__(self) -> None:
        self.subtree_defs = tuple(self.subtree_defs)

    def states(self) -> list[Any]:
        """The state of each array."""
        return [
            tree_unflatten(tree, leaves)
            for tree, leaves in zip(self.subtree_defs, self.packed_state, strict=True)
        ]


register_pytree_node(
    OptimizerState,
    lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


class Optimizer(NamedTuple):
    """`init_fn(params)` and `update_fn(step, grads, state)` give states, `params_fn` parameters."""

    init_fn: Callable[[Any], State]
    update_fn: Callable[[Step, Any, State], State]
    params_fn: Callable[[State], Any]


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Decorate a maker of an optimiser for one array: the result takes trees of arrays.

    Args:
      opt_maker: a function that returns `(init, update, get_params)` for one array.

    >>> from effax.example_libraries import optimizers
    >>> @optimizers.optimizer
    ... def make(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * g, lambda x: x
    >>> init, update, params = make(0.5)
    >>> float(params(update(0, 2.0, init(3.0))))
    2.0
    """

    @functools.wraps(opt_maker)
    def make(*args: Any, **keywords: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **keywords)

        def packed(states: Sequence[Any], tree: Any) -> OptimizerState:
            pairs = [tree_flatten(s) for s in states]
            return OptimizerState([leaves for leaves, _ in pairs], tree, [t for _, t in pairs])

        def tree_init(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return packed([init(x) for x in leaves], tree)

        def tree_update(i: Step, grads: Any, opt_state: OptimizerState) -> OptimizerState:
            leaves, tree = tree_flatten(grads)
            if tree != opt_state.tree_def:
                raise TypeError(
                    "optimizers: the gradients must have the tree of the parameters that the "
                    f"state was made of, {opt_state.tree_def}, got {tree}"
                )
            states = opt_state.states()
            done = packed([update(i, g, s) for g, s in zip(leaves, states, strict=True)], tree)
            for before, after in zip(opt_state.subtree_defs, done.subtree_defs, strict=True):
                if before != after:
                    raise TypeError(
                        f"optimizers: an update must keep the tree of the state, {before}, but "
                        f"returned {after}"
                    )
            return done

        def tree_params(opt_state: OptimizerState) -> Any:
            params = [get_params(s) for s in opt_state.states()]
            return tree_unflatten(opt_state.tree_def, params)

        return Optimizer(tree_init, tree_update, tree_params)

    return make


def _first(state: Any) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Any) -> Any:
    """Make an optimiser of gradient descent.

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).

    >>> import effax, effax.numpy as jnp
    >>> from effax.example_libraries import optimizers
    >>> init, update, get_params = optimizers.sgd(0.5)
    >>> get_params(update(0, jnp.array([2.0]), init(jnp.array([3.0]))))
    Array([2.], dtype=float32)
    """
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: float) -> Any:
    """Make an optimiser of gradient descent with momentum (Polyak 1964).

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      mass: the factor by which the velocity shrinks at each step.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.momentum(0.1, 0.9)
    >>> params(update(0, 2.0, init(1.0))).round(3)
    Array(0.8, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def nesterov(step_size: Any, mass: float) -> Any:
    """Make an optimiser of gradient descent with Nesterov's momentum (1983).

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      mass: the factor by which the velocity shrinks at each step.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.nesterov(0.1, 0.9)
    >>> params(update(0, 2.0, init(1.0))).round(3)
    Array(0.62, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def adagrad(step_size: Any, momentum: float = 0.9) -> Any:
    """Make an optimiser that divides by the root of the sum of squares (Duchi et al. 2011).

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      momentum: the decay of the running mean of the scaled gradients.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.adagrad(0.1)
    >>> params(update(0, 2.0, init(1.0))).round(1)
    Array(1., dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, squares, m = state
        squares = squares + jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        return x - rate(i) * m, squares, m

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: float = 0.9, eps: float = 1e-8) -> Any:
    """Make an optimiser that divides by a root mean square (Tieleman & Hinton 2012).

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      gamma: the decay of the running mean.
      eps: a small number that is added to the mean, under the root.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.rmsprop(0.1)
    >>> params(update(0, 2.0, init(1.0))).round(3)
    Array(0.684, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / jnp.sqrt(mean + eps), mean

    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(
    step_size: Any, gamma: float = 0.9, eps: float = 1e-8, momentum: float = 0.9
) -> Any:
    """Make an optimiser like `rmsprop` with momentum.

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      gamma: the decay of the running mean.
      eps: a small number that is added to the mean, under the root.
      momentum: the factor by which the velocity shrinks at each step.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.rmsprop_momentum(0.1)
    >>> params(update(0, 2.0, init(1.0))).round(3)
    Array(0.684, dtype=float32, weak_type=True)
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, mean, m = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + rate(i) * g / jnp.sqrt(mean + eps)
        return x - m, mean, m

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adam(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Make an optimiser of adaptive moments, Adam (Kingma & Ba 2015).

    It takes running means of gradients and of their squares, corrected for their start.

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      b1: the decay of the mean of gradients.
      b2: the decay of the mean of squares.
      eps: a small number that is added to the root of the mean of squares.

    >>> import effax.numpy as jnp
    >>> from effax.example_libraries import optimizers
    >>> init, update, get_params = optimizers.adam(0.5)
    >>> round(float(get_params(update(0, jnp.array(2.0), init(jnp.array(3.0))))), 4)
    2.5
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        m_hat = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        v_hat = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - rate(i) * m_hat / (jnp.sqrt(v_hat) + eps), m, v

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(step_size: Any, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    """Make an optimiser like `adam`, with a running maximum instead of the mean of squares.

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      b1: the decay of the mean of gradients.
      b2: the decay of the maximum.
      eps: a small number that is added to the maximum.

    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.adamax(0.1)
    >>> round(float(params(update(0, 2.0, init(1.0)))), 3)
    0.9
    """
    rate = make_schedule(step_size)

    def update(i: Step, g: Any, state: State) -> State:
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        scale = rate(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        return x - scale * m / (u + eps), m, u

    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: Any, momentum: float = 0.9) -> Any:
    """Make an optimiser like `adagrad` that keeps one number a row and column (Anil et al. 2019).

    Args:
      step_size: the step size, a number or a schedule (a function of the step index).
      momentum: the decay of the running mean of the scaled gradients.

    >>> import effax.numpy as jnp
    >>> from effax.example_libraries import optimizers
    >>> init, update, params = optimizers.sm3(0.1)
    >>> params(update(0, jnp.ones(2), init(jnp.ones(2)))).round(1).tolist()
    [1.0, 1.0]
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> State:
        flat = jnp.atleast_1d(x)
        sums = [jnp.zeros(n, dtype=flat.dtype) for n in flat.shape]
        return flat, jnp.zeros_like(flat), sums, x.shape

    def update(i: Step, g: Any, state: State) -> State:
        x, m, sums, shape = state
        g = g.reshape(x.shape)
        spread = [
            v.reshape([-1 if j == axis else 1 for j in range(x.ndim)])
            for axis, v in enumerate(sums)
        ]
        bound = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        scale = jnp.where(bound > 0, 1.0 / jnp.sqrt(bound), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        others = [tuple(j for j in range(x.ndim) if j != axis) for axis in range(x.ndim)]
        return x - rate(i) * m, m, [bound.max(axes) for axes in others], shape

    return init, update, lambda state: state[0].reshape(state[3])


def constant(step_size: Any) -> Schedule:
    """Return the schedule of one step size.

    Args:
      step_size: the step size, a number.

    >>> from effax.example_libraries import optimizers
    >>> optimizers.constant(0.1)(7)
    0.1
    """
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Return the schedule `step_size * decay_rate ** (i / decay_steps)`.

    Args:
      step_size: the first step size.
      decay_steps: the number of steps in which it is multiplied by `decay_rate` once.
      decay_rate: the factor.

    >>> from effax.example_libraries import optimizers
    >>> optimizers.exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(
    step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False
) -> Schedule:
    """Return the schedule `step_size / (1 + decay_rate * i / decay_steps)`.

    Args:
      step_size: the first step size.
      decay_steps: the number of steps in which the divisor grows by `decay_rate`.
      decay_rate: the growth of the divisor.
      staircase: whether `i / decay_steps` is rounded down.

    >>> from effax.example_libraries import optimizers
    >>> optimizers.inverse_time_decay(1.0, 10, 1.0)(30)
    0.25
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(
    step_size: Any, decay_steps: Any, final_step_size: Any, power: float = 1.0
) -> Schedule:
    """Return a schedule from one step size to another, as a power of the steps that remain.

    Args:
      step_size: the first step size.
      decay_steps: the number of steps until `final_step_size`, which then stays.
      final_step_size: the last step size.
      power: the exponent; 1 for a linear schedule.

    >>> from effax.example_libraries import optimizers
    >>> float(optimizers.polynomial_decay(1.0, 10, 0.0)(5))
    0.5
    """

    def schedule(i: Step) -> Any:
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """Return a schedule that is `values[k]` between the boundaries k - 1 and k.

    >>> from effax.example_libraries import optimizers
    >>> float(optimizers.piecewise_constant([10, 20], [4.0, 2.0, 1.0])(15))
    2.0
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """Return a schedule itself, or the constant one for a number.

    Args:
      scalar_or_schedule: a number, or a function of the step index.

    >>> from effax.example_libraries import optimizers
    >>> optimizers.make_schedule(0.5)(10)
    0.5
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(
        "make_schedule: expected a scalar or a function of the step, got a value of type "
        f"{type(scalar_or_schedule)}"
    )


def l2_norm(tree: Any) -> Any:
    """Return the root of the sum of all squares in a tree of arrays.

    >>> from effax.example_libraries import optimizers
    >>> float(optimizers.l2_norm({"a": 3.0, "b": 4.0}))
    5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """Return the gradients, scaled down where their norm is more than `max_norm`.

    Args:
      grad_tree: a tree of arrays.
      max_norm: the largest norm of the result, see `l2_norm`.

    >>> import effax.numpy as jnp
    >>> from effax.example_libraries import optimizers
    >>> optimizers.clip_grads(jnp.array([3.0, 4.0]), 1.0)
    Array([0.6, 0.8], dtype=float32)
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """The state of one array, as a leaf."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """Return the state as a tree like the parameters', with a `JoinPoint` for each: to be saved.

    Args:
      opt_state: the state of an optimiser.

    >>> from effax.example_libraries import optimizers
    >>> init, _, _ = optimizers.sgd(0.1)
    >>> type(optimizers.unpack_optimizer_state(init({"w": 1.0}))["w"]).__name__
    'JoinPoint'
    """
    return tree_unflatten(opt_state.tree_def, [JoinPoint(s) for s in opt_state.states()])


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """Return the state of an optimiser; the inverse of `unpack_optimizer_state`.

    Args:
      marked_pytree: a tree whose leaves are all `JoinPoint`s.

    >>> from effax.example_libraries import optimizers
    >>> init, _, params = optimizers.sgd(0.1)
    >>> saved = optimizers.unpack_optimizer_state(init({"w": 1.0}))
    >>> float(params(optimizers.pack_optimizer_state(saved))["w"])
    1.0
    """
    points, tree = tree_flatten(marked_pytree)
    if not all(isinstance(p, JoinPoint) for p in points):
        raise TypeError("pack_optimizer_state: expected a tree whose leaves are all JoinPoints")
    pairs = [tree_flatten(p.subtree) for p in points]
    return OptimizerState([leaves for leaves, _ in pairs], tree, [t for _, t in pairs])
