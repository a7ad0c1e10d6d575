"""Steps that hold more than sketches: rules, policies, programs of the public surface.

Each is made by a function here, of a sketch or of types, so that it prints as what makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from effax.api.calling.scopes import named_scope
from effax.api.derivatives.checkpoint import checkpoint_policies
from effax.api.derivatives.forward import Linearized, jvp_flat
from effax.api.mapping.vmap import vmap
from effax.effects.program import Program
from effax.effects.rows import comparison, conversion, elementwise, reduction, shape, transcendental
from effax.effects.rows.callback import pure_callback
from effax.effects.rows.custom import custom_jvp_call
from effax.effects.types import ShapedArray, int32, typeof
from effax.interpreters.jvp.dual import tangent_type
from effax.interpreters.stage import stage
from effax.interpreters.transpose.linear import instantiate
from effax.laws.derived_kernels import kernelled as kernelled


def _staged(function: Callable[..., Any], types: Sequence[ShapedArray], name: str) -> Program:
    staged = stage(lambda *xs: list(function(*xs)), types, name)
    if staged.captured:
        raise ValueError(f"{name} must be closed")
    return staged.program


# ---------------------------------------------------------------------------------- rules


def own_jvp(program: Program) -> Callable[..., Any]:
    """The derivative of a program as its own forward rule."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return jvp_flat(program.run, primals, tangents)

    return rule


@attrs.frozen(eq=False)
class OwnVjp:
    """The derivative of a program as its own reverse rule; it keeps the operands."""

    program: Program
    optimize_remat: bool = False

    def forward(
        self, primals: Sequence[Any], moving: Sequence[bool]
    ) -> tuple[list[Any], list[Any]]:
        """Results and residuals."""
        return self.program.run(*primals), list(primals)

    def backward_of(self, moving: tuple[int, ...], wanted: tuple[bool, ...]) -> OwnBackward:
        """The backward function between results and operands that move."""
        return OwnBackward(self.program, moving, wanted)


@attrs.frozen(eq=False)
class OwnBackward:
    """From residuals and the cotangents of results that move to those of wanted operands."""

    program: Program
    moving: tuple[int, ...]
    wanted: tuple[bool, ...]
    memo: dict[Any, Any] = attrs.field(factory=dict)
    symbolic: bool = False

    def __call__(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """The cotangents."""
        given = dict(zip(self.moving, cotangents, strict=True))
        done = Linearized(self.program.run, residuals)
        pulled = done.pull([given.get(i) for i in range(len(self.program.outputs))])
        return [
            instantiate(ct, tangent_type(typeof(x)))
            for ct, x, w in zip(pulled, residuals, self.wanted, strict=True)
            if w
        ]


def own_vjp(program: Program, optimize_remat: bool) -> OwnVjp:
    """The derivative of a program as its own reverse rule."""
    return OwnVjp(program, optimize_remat)


def own_vmap(program: Program) -> Callable[..., Any]:
    """The batching of a program as its own rule."""

    def rule(size: int, batched: Sequence[bool], values: Sequence[Any]) -> Any:
        axes = tuple(0 if b else None for b in batched)
        results = vmap(program.run, in_axes=axes, axis_size=size)(*values)
        return results, [True] * len(results)

    return rule


# ------------------------------------------------------------------------------- policies


def policy(name: str) -> Callable[..., Any]:
    """A policy of `checkpoint` by its name."""
    found: Callable[..., Any] = getattr(checkpoint_policies, name)
    return found


def keeping(name: str, offloaded: bool) -> Callable[..., Any]:
    """The policy that stores the values of a name, in another memory perhaps."""
    if not offloaded:
        return checkpoint_policies.save_only_these_names(name)
    return checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=(),
        names_which_can_be_offloaded=(name,),
        offload_src="device",
        offload_dst="pinned_host",
    )


# ------------------------------------------------------------------------------- programs


def scoped(program: Program) -> Program:
    """The program, staged again under a named scope."""

    def inside(*xs: Any) -> Any:
        with named_scope("drawn"):
            return program.run(*xs)

    return _staged(inside, program.in_types, "scoped")


def checked(program: Program, automatic: bool) -> Program:
    """The program with a check of its first result, answered; its last result is the verdict."""
    from effax.experimental import checkify

    kinds = checkify.all_checks if automatic else checkify.user_checks

    def guarded(*xs: Any) -> Any:
        ys = program.run(*xs)
        n = typeof(ys[0]).ndim
        total = reduction.reduce_sum(ys[0], axes=tuple(range(n))) if n else ys[0]
        checkify.check(comparison.lt(total, 1.3), "too large: {}", total)
        return ys

    def discharged(*xs: Any) -> Any:
        error, ys = checkify.checkify(guarded, errors=kinds)(*xs)
        failed = comparison.ne(error.tree_flatten()[0][0], 0)
        return [*ys, conversion.convert_element_type(failed, dtype=int32)]

    return _staged(discharged, program.in_types, "checked")


def _sine(*xs: Any) -> list[Any]:
    return [np.sin(x) for x in xs]


def on_host(type: ShapedArray) -> Program:
    """The sine, found by the host."""
    result = (type.strong(),)

    def called(x: Any) -> Any:
        return pure_callback(x, callback=_sine, result_types=result, vmap_method="expand_dims")

    return _staged(called, [type], "on_host")


def of_host(type: ShapedArray) -> Callable[..., Any]:
    """The forward rule of that."""
    program = on_host(type)

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        (x,), (t,) = primals, tangents
        moved = None if t is None else elementwise.mul(transcendental.cos(x), t)
        return custom_jvp_call(x, program=program, rule=rule, name="host"), [moved]

    return rule


def prefixes(type: ShapedArray, axis: int, reverse: bool, affine: bool) -> Program:
    """Prefix sums, or compositions of affine maps, by `associative_scan`."""
    from effax.lax import associative_scan

    def compose(one: Any, other: Any) -> Any:
        return (
            elementwise.mul(one[0], other[0]),
            elementwise.add(elementwise.mul(other[0], one[1]), other[1]),
        )

    def scanned(x: Any) -> Any:
        if not affine:
            return [associative_scan(elementwise.add, x, reverse=reverse, axis=axis)]
        half = elementwise.mul(transcendental.sin(x), 0.5)
        return [associative_scan(compose, (half, x), reverse=reverse, axis=axis)[1]]

    return _staged(scanned, [type], "prefixes")


def rooted(type: ShapedArray) -> Program:
    """The y with `y + sin(y) / 2 = x`, by Newton's method under `custom_root`."""
    from effax.lax import custom_root, fori_loop

    def root(x: Any) -> Any:
        def residual(y: Any) -> Any:
            half = elementwise.mul(transcendental.sin(y), 0.5)
            return elementwise.sub(elementwise.add(y, half), x)

        def newton(f: Any, y: Any) -> Any:
            def step(i: Any, y: Any) -> Any:
                slope = elementwise.add(elementwise.mul(transcendental.cos(y), 0.5), 1.0)
                return elementwise.sub(y, elementwise.div(f(y), slope))

            return fori_loop(0, 9, step, y)

        def divide(g: Any, y: Any) -> Any:
            return elementwise.div(y, g(shape.full(type.shape, 1, type.dtype)))

        return [custom_root(residual, x, newton, divide)]

    return _staged(root, [type], "rooted")


def solved(type: ShapedArray) -> Program:
    """The solution of `(3 + v v') x = b` for vectors v and b, under `custom_linear_solve`."""
    from effax.lax import custom_linear_solve

    def along(v: Any, x: Any, factor: Any) -> Any:
        inner = reduction.reduce_sum(elementwise.mul(v, x), axes=(0,))
        part = elementwise.mul(inner, factor)
        return elementwise.mul(v, shape.broadcast_in_dim(part, shape=type.shape, dims=()))

    def solution(v: Any, b: Any) -> Any:
        def matvec(x: Any) -> Any:
            return elementwise.add(elementwise.mul(x, 3.0), along(v, x, 1.0))

        def solve(matvec: Any, b: Any) -> Any:
            norm = reduction.reduce_sum(elementwise.mul(v, v), axes=(0,))
            factor = elementwise.div(1.0, elementwise.add(norm, 3.0))
            return elementwise.mul(elementwise.sub(b, along(v, b, factor)), 1 / 3)

        return [custom_linear_solve(matvec, b, solve, symmetric=True)]

    return _staged(solution, [type, type], "solved")
