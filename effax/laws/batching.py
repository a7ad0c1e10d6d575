"""Laws of batching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import effax
from effax.effects.rows import elementwise, shape
from effax.effects.types import typeof
from effax.laws.law import Case, law, total

_N = 3


def _vmap(f: Any, *args: Any, **options: Any) -> Any:
    return effax.vmap(f, **options)(*args)


def _row(x: Any, i: int) -> Any:
    return shape.squeeze(shape.slice_axis(x, 0, i, i + 1), (0,))


def _stack(rows: list[Any]) -> Any:
    return shape.concatenate(*[shape.expand_dims(r, (0,)) for r in rows], axis=0)


def mapped(f: Callable[..., Any], args: list[Any], n: int = _N) -> tuple[Any, ...]:
    """The function of each row in turn; the results stacked."""
    results = [f(*[_row(x, i) for x in args]) for i in range(n)]
    return tuple(_stack(list(column)) for column in zip(*results, strict=True))


def _last_axis_first(x: Any) -> Any:
    n = typeof(x).ndim
    return shape.transpose(x, permutation=(n - 1, *range(n - 1)))


def _first_axis_last(x: Any) -> Any:
    n = typeof(x).ndim
    return shape.transpose(x, permutation=(*range(1, n), 0))


def _swapped(x: Any) -> Any:
    n = typeof(x).ndim
    return shape.transpose(x, permutation=(1, 0, *range(2, n)))


@law("vmap f = stack . map f", needs="mixed")
def vmap_is_map(c: Case) -> Any:
    args = c.batch()
    return _vmap(c.f, *args), mapped(c.f, args)


@law("vmap over the last axis = vmap over the first", needs="mixed")
def vmap_axes_permute(c: Case) -> Any:
    args = c.batch()
    moved = _vmap(c.f, *map(_first_axis_last, args), in_axes=-1, out_axes=-1)
    return tuple(map(_last_axis_first, moved)), _vmap(c.f, *args)


@law("vmap (vmap f) = swap . vmap (vmap f) . swap", needs="mixed")
def vmaps_swap(c: Case) -> Any:
    args = [_stack([x, y]) for x, y in zip(c.batch(), c.batch(shift=1), strict=True)]
    twice = effax.vmap(effax.vmap(c.f))
    return tuple(map(_swapped, twice(*map(_swapped, args)))), twice(*args)


@law("vmap (g . f) = vmap g . vmap f", needs="g")
def vmap_composes(c: Case) -> Any:
    args = c.batch()
    return _vmap(lambda *xs: c.g(*c.f(*xs)), *args), _vmap(c.g, *_vmap(c.f, *args))


@law("vmap (jit f) = jit (vmap f)", needs="mixed")
def vmap_commutes_with_jit(c: Case) -> Any:
    args = c.batch()
    return effax.vmap(effax.jit(c.f))(*args), effax.jit(effax.vmap(c.f))(*args)


@law("jvp (vmap f) = vmap (jvp f)")
def jvp_commutes_with_vmap(c: Case) -> Any:
    args, u = tuple(c.batch()), tuple(c.batch(shift=1))
    inside = effax.vmap(lambda xs, us: effax.jvp(c.f, xs, us))
    return effax.jvp(effax.vmap(c.f), args, u), inside(args, u)


@law("vmap (grad f) = stack . map (grad f)", needs="no while")
def per_example_gradients(c: Case) -> Any:
    args = c.batch()
    gradient = effax.grad(lambda *xs: total(c.f(*xs)), argnums=tuple(range(len(args))))
    return effax.vmap(gradient)(*args), mapped(gradient, args)


@law("grad (sum . vmap f) = vmap (grad f)", needs="no while")
def grad_commutes_with_vmap(c: Case) -> Any:
    args, numbers = c.batch(), tuple(range(len(c.f.types)))
    gradient = effax.grad(lambda *xs: total(c.f(*xs)), argnums=numbers)
    summed = effax.grad(lambda *xs: total(effax.vmap(c.f)(*xs)), argnums=numbers)
    return summed(*args), effax.vmap(gradient)(*args)


@law("an argument not mapped = one repeated")
def unmapped_is_repeated(c: Case) -> Any:
    args = c.batch()
    fixed = _row(args[0], 0)
    axes = (None, *[0] * (len(args) - 1))
    repeated = _stack([fixed] * _N)
    left = _vmap(c.f, fixed, *args[1:], in_axes=axes, axis_size=_N)
    return left, _vmap(c.f, repeated, *args[1:])


@law("vmap over one = f with an axis more")
def vmap_of_one(c: Case) -> Any:
    args = c.args
    single = [shape.expand_dims(x, (0,)) for x in args]
    return _vmap(c.f, *single), tuple(shape.expand_dims(y, (0,)) for y in c.f(*args))


@law("vmap (remat f) = vmap f")
def vmap_of_remat(c: Case) -> Any:
    from effax.effects.rows import control

    program = c.f.program()
    args = c.batch()

    def again(*xs: Any) -> Any:
        return tuple(control.remat(*xs, program=program, policy=None, name="f", prevent_cse=True))

    return _vmap(again, *args), _vmap(c.f, *args)


@law("vmap of a constant function repeats it")
def vmap_of_constant(c: Case) -> Any:
    args = c.args
    left = _vmap(lambda i: c.f(*args), c.lift(_counts()))
    return left, tuple(_stack([y] * _N) for y in c.f(*args))


def _counts() -> Any:
    import numpy as np

    return np.arange(_N)


@law("jvp of vmap over one argument is linear")
def vmap_of_linearized(c: Case) -> Any:
    args, u = c.args, c.batch(shift=1)
    linear = effax.linearize(c.f, *args)[1]
    twice = [elementwise.mul(x, 2.0) for x in u]
    return (
        effax.vmap(linear)(*twice),
        tuple(elementwise.mul(y, 2.0) for y in mapped(linear, u)),
    )
