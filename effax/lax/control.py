"""Loops as users write them: `while_loop`, `fori_loop`, `scan`, `map`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from effax.api.calling.differentiable import as_value
from effax.effects import config as settings
from effax.effects.dtypes import is_float, is_integer
from effax.effects.errors import ConcretizationTypeError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.program import Program
from effax.effects.promotion import result_type
from effax.effects.rows import comparison, control, elementwise, shape
from effax.effects.rows.control import row_type
from effax.effects.rows.state import Ref
from effax.effects.tree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.effects.value import ArrayLike, greatest, is_symbolic, is_symbolic_length
from effax.interpreters.functor.masks import merge, pick
from effax.interpreters.stage import Staged
from effax.lax.branching import cond as cond
from effax.lax.branching import switch as switch
from effax.lax.carrying import as_type, loop_body, refuse_aliases, traced, wraps_body


@filtered
def while_loop(
    cond_fun: Callable[[Any], ArrayLike],
    body_fun: Callable[[Any], Any],
    init_val: Any,
    *,
    checkpoints: int | None = None,
) -> Any:
    """Apply `body_fun` again and again, as long as `cond_fun` holds.

    Forward mode goes through it. Reverse mode can't store what the steps leave, for their number is
    not known: with `checkpoints=n` it keeps n carries and computes the others again.

    Args:
      cond_fun: from the carry to a Boolean scalar.
      body_fun: from the carry to the next.
      init_val: the first carry, a tree of arrays.
      checkpoints: how many carries reverse mode may keep, at least 1. With c of them each of n > 1
        steps is done t times at most, where n <= binomial(c + t, t), and pulled back once.

    Raises:
      ValueError: where `checkpoints` is less than 1.
      TypeError: where the body changes the carry's tree, shapes or dtypes, or the condition is
        no Boolean scalar.

    >>> import effax
    >>> effax.lax.while_loop(lambda x: x < 100, lambda x: x * 2, 3)
    Array(192, dtype=int32, weak_type=True)
    >>> effax.grad(
    ...     lambda x: effax.lax.while_loop(lambda y: y < 100, lambda y: y * x, x, checkpoints=2)
    ... )(3.0)
    Array(405., dtype=float32, weak_type=True)
    """
    if not (callable(cond_fun) and callable(body_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    slots = 0 if checkpoints is None else int(checkpoints)
    if checkpoints is not None and slots < 1:
        raise ValueError(
            "lax.while_loop: checkpoints must be at least 1, as reverse mode keeps the first "
            f"carry, got {checkpoints}; leave it out if you need no reverse mode"
        )
    if settings.read("disable_jit"):
        with suppress(ConcretizationTypeError):  # a mapped condition has no single truth value
            return _while_in_python(cond_fun, body_fun, init_val)
    leaves, carry_tree = tree_flatten(init_val)
    types = [typeof(x) for x in leaves]
    in_tree = tree_flatten((init_val,))[1]
    body, _, types = loop_body("while_loop", body_fun, in_tree, types, (), carry_tree)
    test, verdict_tree = traced("while_loop", cond_fun, in_tree, types)
    _check_verdict(verdict_tree, test.program.out_types)
    carry = [as_type(x, t) for x, t in zip(leaves, types, strict=True)]
    return tree_unflatten(carry_tree, _perform_while(test, body, carry, slots))


def _check_verdict(tree: Any, types: Sequence[ShapedArray]) -> None:
    """Raise `TypeError` unless the result of a loop's condition is one Boolean scalar."""
    wanted = "lax.while_loop: cond_fun must return a boolean scalar, but got"
    if tree.node_data() is not None or len(types) != 1:
        nothing = tree.num_nodes == 1 and not types
        fix = "Does it lack a return?" if nothing else "Combine its conditions by & or |."
        raise TypeError(f"{wanted} pytree {tree}. {fix}")
    (verdict,) = types
    advice = ["compare, as in x != 0"] if verdict.dtype != np.bool_ else []
    advice += ["reduce it by jnp.all or jnp.any"] if verdict.shape else []
    if advice:
        raise TypeError(f"{wanted} {verdict.str_short()}; {', and '.join(advice)}")


def _while_in_python(cond_fun: Any, body_fun: Any, value: Any) -> Any:
    while bool(cond_fun(value)):
        value = body_fun(value)
    return value


def _perform_while(test: Staged, body: Staged, carry: list[Any], checkpoints: int) -> list[Any]:
    """The last carry. What the body passes on unchanged is a constant of the loop.

    So its derivative needs no step, and reverse mode may go round the loop.
    """
    program = body.program
    kept = [
        x is not y
        for x, y in zip(program.inputs[len(body.captured) :], program.outputs, strict=True)
    ]
    moving = pick(carry, kept, True)
    fixed = pick(carry, kept, False)
    results = control.while_loop(
        *test.captured,
        *fixed,
        *body.captured,
        *fixed,
        *moving,
        cond=_with_constants(test, kept, test.program.outputs),
        body=_with_constants(body, kept, pick(body.program.outputs, kept, True)),
        cond_consts=len(test.captured) + len(fixed),
        body_consts=len(body.captured) + len(fixed),
        **({"checkpoints": checkpoints} if checkpoints else {}),
    )
    return merge(kept, results, [as_value(x) for x in fixed])


def _with_constants(part: Staged, kept: Sequence[bool], outputs: Sequence[Any]) -> Program:
    """A program of a loop with the part of the carry that is not kept among its constants."""
    p, n = part.program, len(part.captured)
    carry = p.inputs[n:]
    inputs = [*p.inputs[:n], *pick(carry, kept, False), *pick(carry, kept, True)]
    return Program(inputs, p.equations, outputs, p.name)


@filtered
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Carry a value through the rows of arrays: `carry, y = f(carry, x)` for each x in turn.

    Args:
      f: a step, from `(carry, x)` to `(carry, y)`.
      init: the first carry.
      xs: a tree of arrays scanned along their first axis, or None.
      length: the number of steps, needed only when `xs` is empty.
      reverse: whether to go from the last row to the first.
      unroll: how many steps to write out in one iteration of the loop; True for all.
      _split_transpose: whether reverse mode goes back in two parts: a scan of what the cotangent of
        the carry needs, and all steps of the rest at once, as for `vmap`. Cotangents of weights
        are then one product, not one a step; the cotangents of all carries are stored for it.

    Returns:
      The last carry, and the `y`s stacked along a new first axis.

    Raises:
      TypeError: where the step changes the carry's type.
      ValueError: where scanned arrays differ in length.

    >>> import effax, effax.numpy as jnp
    >>> effax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(4.0))
    (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32, weak_type=True))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    leaves, carry_tree = tree_flatten(init)
    rows, xs_tree = tree_flatten(xs)
    if any(isinstance(x, Ref) for x in rows):
        from effax.api.references.references import refuse_parts

        refuse_parts(xs, "lax.scan, xs")
    refuse_aliases("scan", f, (init, xs), [*leaves, *rows])
    row_types = [typeof(x) for x in rows]
    n = _scan_length(row_types, xs_tree, length)
    if settings.read("disable_jit"):
        return _scan_in_python(f, init, rows, xs_tree, n, reverse)
    types = [typeof(x) for x in leaves]
    in_tree = tree_flatten((init, xs))[1]
    step_types = [row_type(t) for t in row_types]
    body, out_tree, types = loop_body("scan", f, in_tree, types, step_types, carry_tree)
    steps = max(n, 1) if unroll is True else operator.index(unroll) or 1
    if steps < 0:
        raise ValueError(f"`unroll` must be a positive integer or a Boolean, got {unroll}")
    carry = [as_type(x, t) for x, t in zip(leaves, types, strict=True)]
    options = {"length": n, "reverse": bool(reverse), "unroll": steps}
    if _split_transpose:
        options["split_transpose"] = True
    pair: tuple[Any, Any] = tree_unflatten(out_tree, _perform_scan(body, carry, rows, options))
    return pair


def _perform_scan(
    body: Staged, carry: list[Any], rows: Sequence[Any], options: dict[str, Any]
) -> list[Any]:
    """The last carry, and the rows made. A carry that each step passes on is a constant of the
    loop, and rows that are those scanned are themselves."""
    p, n, m = body.program, len(body.captured), len(carry)
    scanned = dict(zip(p.inputs[n + m :], rows, strict=True))
    before, after = p.inputs[n : n + m], p.outputs[:m]
    moves = [x is not y for x, y in zip(before, after, strict=True)]
    made = [x not in scanned for x in p.outputs[m:]]
    fixed = pick(carry, moves, False)
    if fixed or not all(made):
        inputs = [*p.inputs[:n], *pick(before, moves, False), *pick(before, moves, True), *scanned]
        outputs = [*pick(after, moves, True), *pick(p.outputs[m:], made, True)]
        p = Program(inputs, p.equations, outputs, p.name)
    count = sum(moves)
    results = control.scan(
        *body.captured,
        *fixed,
        *pick(carry, moves, True),
        *rows,
        body=p,
        consts=n + len(fixed),
        carry=count,
        **options,
    )
    forwarded = [scanned[x] for x in body.program.outputs[m:] if x in scanned]
    return [
        *merge(moves, results[:count], [as_value(x) for x in fixed]),
        *merge(made, results[count:], [as_value(x) for x in forwarded]),
    ]


def _scan_length(types: Sequence[ShapedArray], tree: Any, length: int | None) -> int:
    lengths = set()
    for t in types:
        if not t.shape:
            raise ValueError(
                "scan got value with no leading axis to scan over: "
                f"{_leaves_of_xs(tree, types, lambda t: not t.shape)}{_list_advice(tree)}"
            )
        lengths.add(t.shape[0])
    if length is not None:
        try:
            length = length if is_symbolic_length(length) else int(length)
        except ConcretizationTypeError:
            raise ConcretizationTypeError(
                length,
                "The `length` argument to `scan` expects a concrete `int` value. For a number of "
                "steps known only when the program runs, use lax.fori_loop or lax.while_loop.",
                needs="the length of scan",
            ) from None
        if any(n != length for n in lengths):
            raise ValueError(
                f"scan got `length` argument of {length} which disagrees with leading axis sizes "
                f"{sorted(lengths)}."
            )
        return length
    if not lengths:
        raise ValueError("scan got no values to scan over and `length` not provided.")
    if len(lengths) > 1:
        raise ValueError(
            f"scan got values with different leading axis sizes: {sorted(lengths)}; "
            f"{_leaves_of_xs(tree, types, lambda t: True)}{_list_advice(tree)}"
        )
    return lengths.pop()


def _leaves_of_xs(
    tree: Any, types: Sequence[ShapedArray], shown: Callable[[ShapedArray], bool]
) -> str:
    """Name leaves of what is scanned, with their types: the first few of those to be shown."""
    paths = tree_flatten_with_path(tree_unflatten(tree, types))[0]
    named = [f"xs{keystr(path)} is {t.str_short()}" for path, t in paths if shown(t)]
    return ", ".join(named[:4]) + (", ..." if len(named) > 4 else "")


def _list_advice(tree: Any) -> str:
    """Say what a list is for `scan`, where one stands for what is scanned."""
    if tree.node_data() is None or tree.node_data()[0] is not list:
        return ""
    return (
        ". A list is a tree of arrays, each scanned along its first axis; to scan over the items "
        "of the list, make them one array by jnp.stack or jnp.asarray"
    )


def _scan_in_python(
    f: Any, init: Any, rows: Sequence[Any], tree: Any, n: int, reverse: bool
) -> tuple[Any, Any]:
    carry, ys = init, []
    order = range(n)[::-1] if reverse else range(n)
    for i in order:
        carry, y = f(carry, tree_unflatten(tree, [_row(x, i) for x in rows]))
        ys.append(y)
    if reverse:
        ys.reverse()
    if not ys:
        raise ValueError("zero-length scan is not supported with disable_jit: no step gives a type")
    leaves = [tree_flatten(y)[0] for y in ys]
    y_tree = tree_flatten(ys[0])[1]
    stacked = [
        shape.concatenate(*(shape.reshape(v, shape=(1, *typeof(v).shape)) for v in column), axis=0)
        for column in zip(*leaves, strict=True)
    ]
    return carry, tree_unflatten(y_tree, stacked)


def _row(x: Any, i: int) -> Any:
    """A row of what is scanned; of a reference, a reference to it."""
    return x.at[i] if isinstance(x, Ref) else x[i]


@filtered
def fori_loop(
    lower: ArrayLike,
    upper: ArrayLike,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    checkpoints: int | None = None,
) -> Any:
    """Run `for i in range(lower, upper): val = body_fun(i, val)`, and return `val`.

    With bounds that are Python integers it is a `scan`, which reverse mode goes through; else, or
    where `checkpoints` are asked for, a `while_loop`.

    Args:
      lower: the first index, a scalar.
      upper: the index after the last, a scalar.
      body_fun: from an index and a value to the next value.
      init_val: the first value, a tree of arrays.
      unroll: how many steps to write out in one iteration of the loop; True for all. Only where the
        loop is a `scan`.
      checkpoints: as for `while_loop`.

    >>> import effax
    >>> effax.lax.fori_loop(0, 5, lambda i, x: x + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    for bound in (lower, upper):
        t = typeof(bound)
        if not (is_integer(t.dtype) or is_float(t.dtype)) or t.shape:
            raise TypeError(
                "lower and upper arguments to fori_loop must be integer or floating-point "
                f"scalars, got {t.str_short()}"
            )
    wide = _bound_type(lower, upper)
    known = not (isinstance(lower, Carrier) or isinstance(upper, Carrier))
    count = _steps(lower, upper, is_integer(wide.dtype)) if known and checkpoints is None else None
    if count is not None:
        least: Any = lower
        exact = is_integer(wide.dtype) and not is_symbolic_length(lower)
        first = int(least) if exact else as_type(lower, wide)
        if settings.read("disable_jit"):
            for i in range(count):
                init_val = body_fun(first + i, init_val)
            return init_val

        def step(carry: Any, _: Any) -> Any:
            i, value = carry
            return (elementwise.add(i, 1), body_fun(i, value)), None

        if unroll is None:
            unroll = 1
        step = wraps_body(step, "fori_loop body_fun", body_fun, 1)
        (_, result), _ = scan(step, (first, init_val), None, length=count, unroll=unroll)
        return result
    if unroll is not None:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known, and "
            "without `checkpoints`."
        )
    low, high = as_type(lower, wide), as_type(upper, wide)

    def advance(state: Any) -> Any:
        i, end, value = state
        return elementwise.add(i, 1), end, body_fun(i, value)

    _, _, result = while_loop(
        lambda state: comparison.lt(state[0], state[1]),
        wraps_body(advance, "fori_loop body_fun", body_fun, 2),
        (low, high, init_val),
        checkpoints=checkpoints,
    )
    return result


def _steps(lower: Any, upper: Any, whole: bool) -> int | None:
    """Return the number of steps between known bounds; None where there is no end."""
    if is_symbolic((lower, upper)):
        count: int = greatest(upper - lower, 0)
        return count
    if whole:
        return max(int(upper) - int(lower), 0)
    distance = float(upper) - float(lower)
    return max(math.ceil(distance), 0) if math.isfinite(distance) else None


def _shown(bound: Any) -> str:
    """A bound with its type: the value of a Python number, the type alone of an array."""
    type = typeof(bound)
    return f"{bound} ({type.str_short()})" if isinstance(bound, float | int) else type.str_short()


def _bound_type(lower: Any, upper: Any) -> ShapedArray:
    """The type of a loop's counter."""
    first, last = typeof(lower), typeof(upper)
    alike = is_integer(first.dtype) == is_integer(last.dtype)
    if first.dtype != last.dtype and not (alike and (first.weak_type or last.weak_type)):
        integers = is_integer(first.dtype) and is_integer(last.dtype)
        advice = "convert one with .astype" if integers else "pass integers, such as int(upper)"
        raise TypeError(
            f"lower and upper arguments to fori_loop must have equal types, got {_shown(lower)} "
            f"and {_shown(upper)}; {advice}"
        )
    dtype, weak = result_type(lower, upper, return_weak_type_flag=True)
    return ShapedArray((), dtype, weak or (first.weak_type and first.dtype == dtype))


@filtered
def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply a function to each row in turn, as a loop (`vmap` does them all at once).

    With `batch_size`, that many rows at a time are done at once.

    Args:
      f: from a row to its result.
      xs: a tree of arrays, taken along their first axis.
      batch_size: how many rows are done at once; None for one at a time.

    >>> import effax, effax.numpy as jnp
    >>> effax.lax.map(lambda x: x * x, jnp.arange(3.0))
    Array([0., 1., 4.], dtype=float32)
    """
    if batch_size is not None and batch_size < 0:
        raise ValueError(f"lax.map: batch_size must not be negative, got {batch_size}")
    if not batch_size:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    from effax.api.mapping.vmap import vmap

    leaves, tree = tree_flatten(xs)
    n = _scan_length([typeof(x) for x in leaves], tree, None)
    whole, rest = divmod(n, batch_size)
    parts = []
    if whole:
        grouped = [
            shape.reshape(
                _rows(x, 0, whole * batch_size), shape=(whole, batch_size, *typeof(x).shape[1:])
            )
            for x in leaves
        ]
        done = scan(lambda _, x: ((), vmap(f)(x)), (), tree_unflatten(tree, grouped))[1]
        flat, out_tree = tree_flatten(done)
        parts.append([shape.reshape(x, shape=(whole * batch_size, *x.shape[2:])) for x in flat])
    if rest or not whole:
        tail = vmap(f)(tree_unflatten(tree, [_rows(x, whole * batch_size, n) for x in leaves]))
        flat, out_tree = tree_flatten(tail)
        parts.append(flat)
    if len(parts) == 1:
        return tree_unflatten(out_tree, parts[0])
    joined = [shape.concatenate(a, b, axis=0) for a, b in zip(*parts, strict=True)]
    return tree_unflatten(out_tree, joined)


def _rows(x: Any, start: int, limit: int) -> Any:
    t = typeof(x)
    rest = (0,) * (len(t.shape) - 1)
    return shape.slice(
        x,
        start=(start, *rest),
        limit=(limit, *t.shape[1:]),
        strides=(1,) * len(t.shape),
    )
