"""Steps downhill by what they have told of the second derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import effax.numpy as jnp
from effax import lax
from effax.effects.value import Array
from effax.numpy.decompositions import floats
from effax.scipy.optimize.line_search import LinePoint, search
from effax.scipy.products import product, vdot


def dot(x: Array, y: Array) -> Array:
    """The scalar product of two vectors; of complex ones, that of all their parts."""
    return jnp.real(vdot(x, y))


def times(number: Array, vector: Array) -> Array:
    """A vector, of complex numbers perhaps, times a real number."""
    return number.astype(vector.dtype) * vector


class Learned(Protocol):
    """An approximation of the inverse of the second derivative; a pytree."""

    def times(self, gradient: Array) -> Array:
        """The inverse times a gradient."""

    def learn(self, moved: Array, bent: Array) -> Self:
        """The approximation that takes a change of the gradient to the step that made it."""


def _usable(moved: Array, bent: Array) -> tuple[Array, Array, Array]:
    """Whether a step tells anything, the curvature's inverse, and the size of the inverse."""
    curvature = dot(bent, moved)
    usable = jnp.isfinite(1 / curvature)
    rho = jnp.where(usable, 1 / jnp.where(usable, curvature, 1), 0)
    return usable, rho, curvature / dot(bent, bent)


class Inverse(NamedTuple):
    """The whole matrix (Broyden, Fletcher, Goldfarb & Shanno; Nocedal & Wright 2006, 6.1).

    The first step tells the size of the inverse (equation 6.20). Beside an identity of another size
    its corrections are rounded off: where the second derivative is 1e8, the inverse of float32 had
    none of the step's direction left, and the search stood still. Till then, it is `untold`.
    """

    matrix: Array
    untold: Array

    def times(self, gradient: Array) -> Array:
        """The product of a matrix."""
        return product(self.matrix, gradient)

    def learn(self, moved: Array, bent: Array) -> Inverse:
        """Corrected by two matrices of rank 1."""
        usable, rho, size = _usable(moved, bent)
        scaled = self.untold & jnp.isfinite(size) & (size > 0)
        inverse = jnp.where(scaled, size * self.matrix, self.matrix)
        identity = jnp.eye(moved.size, dtype=inverse.dtype)
        turn = identity - rho * jnp.outer(moved, bent)
        new = product(product(turn, inverse), turn.T) + rho * jnp.outer(moved, moved)
        return Inverse(jnp.where(usable, new, inverse), jnp.asarray(False))


class Recent(NamedTuple):
    """The last steps alone (Nocedal & Wright 2006, algorithm 7.4), of complex vectors too.

    `moves` and the changes of the gradient, `bends`, have a row for each step, the last one last;
    rows of which `rho` is 0 stand for nothing. Sorber, Van Barel & De Lathauwer (2012) for complex
    numbers.
    """

    moves: Array
    bends: Array
    rho: Array
    size: Array

    @classmethod
    def of(cls, x: Array, count: int) -> Self:
        """Nothing learned, with room for so many steps."""
        rows = jnp.zeros((count, x.size), x.dtype)
        real = jnp.real(rows)
        return cls(rows, rows, real[:, 0], jnp.ones((), real.dtype))

    def times(self, gradient: Array) -> Array:
        """The steps' corrections, from the last to the first and back."""

        def back(q: Array, row: Any) -> tuple[Array, Array]:
            moved, bent, rho = row
            share = rho * dot(moved, q)
            return q - times(share, bent), share

        def forth(q: Array, row: Any) -> tuple[Array, None]:
            (moved, bent, rho), share = row
            return q + times(share - rho * dot(bent, q), moved), None

        rows = self.moves, self.bends, self.rho
        q, shares = lax.scan(back, gradient, rows, reverse=True)
        return lax.scan(forth, times(self.size, q), (rows, shares))[0]

    def learn(self, moved: Array, bent: Array) -> Self:
        """With the step in the last row, and without the first."""
        usable, rho, size = _usable(moved, bent)

        def added(rows: Array, row: Array) -> Array:
            return jnp.where(usable, jnp.roll(rows, -1, axis=0).at[-1].set(row), rows)

        return self._replace(
            moves=added(self.moves, moved),
            bends=added(self.bends, bent),
            rho=added(self.rho, rho),
            size=jnp.where(usable, size, self.size),
        )


class State(NamedTuple):
    """The place of a descent, the value before it, `status` of the line search, and counts."""

    point: LinePoint
    x: Array
    learned: Any
    last: Array
    converged: Array
    status: Array
    calls: Array
    k: Array


def descend(
    fun: Callable[[Array], Array],
    x: Array,
    learned: Learned,
    small: Callable[[Array], Array],
    most: Callable[[State], Array],
    searches: int,
) -> State:
    """Go down from `x` until the gradient is `small`, a line search fails, or `most` says stop.

    Gradients point uphill: of complex vectors they are the conjugates of `grad`'s.
    """
    from effax import value_and_grad

    differentiate = value_and_grad(fun)

    def both(x: Array) -> tuple[Array, Array]:
        value, gradient = differentiate(x)
        return value, jnp.conj(gradient)

    def unfinished(s: State) -> Array:
        return ~s.converged & (s.status == 0) & ~most(s)

    def step(s: State) -> State:
        direction = -s.learned.times(s.point.gradient)
        slope = dot(direction, s.point.gradient)

        def along(length: Array) -> LinePoint:
            value, gradient = both(s.x + times(length, direction))
            return LinePoint(length, value, dot(gradient, direction), gradient)

        origin = LinePoint(jnp.zeros_like(slope), s.point.value, slope, s.point.gradient)
        guess = 2.02 * (s.point.value - s.last) / jnp.where(slope == 0, 1, slope)
        guess = jnp.where((guess > 0) & (guess < 1), guess, 1)
        found = search(along, origin, searches, guess)
        moved = times(found.point.step, direction)
        bent = found.point.gradient - s.point.gradient
        return State(
            found.point,
            s.x + moved,
            s.learned.learn(moved, bent),
            s.point.value,
            small(found.point.gradient),
            found.status,
            s.calls + found.calls,
            s.k + 1,
        )

    value, gradient = both(x)
    (value,) = floats("minimize", value)
    zero, count = jnp.zeros_like(value), jnp.asarray(0)
    start = State(
        *(LinePoint(zero, value, zero, gradient), x, learned),
        *(value + jnp.linalg.norm(gradient) / 2, small(gradient), count),
        *(count + 1, count),
    )
    return lax.while_loop(unfinished, step, start)
