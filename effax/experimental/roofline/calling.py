"""`roofline`: the cost of a function, known from the types of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from effax.api.calling.arguments import name_of, wearing
from effax.api.compiling.staging import make_jaxpr
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.api.derivatives.reverse import vjp as take_vjp
from effax.api.mapping.shard_map import planned, shard_map
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.effects.frames import filtered
from effax.effects.mesh import AbstractMesh
from effax.effects.program import Program, Variable, without_dead_code
from effax.effects.rows.sharding import shard_map as shard_map_effect
from effax.effects.tree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten
from effax.effects.types import bfloat16, float0, int32, is_inexact, typeof
from effax.experimental.roofline.counting import Counter
from effax.experimental.roofline.results import RooflineResult


def roofline(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh | None = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult]]:
    """Return a function that counts the operations, bytes and hops of `f`, and computes nothing.

    The count is of one device. It is an estimate from the program of `f`, as it is staged:
    `scan` counts its steps, `while` counts one step, `cond` its most expensive branch. With a mesh
    and specs, `f` is mapped over the mesh by `shard_map`; if `f` itself calls `shard_map`, its last
    call is what is counted.

    Args:
      f: a function of arrays.
      mesh: the mesh whose axes collectives name; it may be an `AbstractMesh`, without devices.
      in_specs: how the arguments are cut into pieces, as for `shard_map`.
      out_specs: how the results are joined.
      pin_lhs_in_vmem: whether left operands and results of matrix products stay on the chip.
      pin_rhs_in_vmem: whether right operands of matrix products stay on the chip.
      vjp: whether to count the derivative of `f` in reverse mode. With a mesh and specs it is the
        backward pass alone, else both passes.
      print_jaxpr: whether to print the program that is counted.

    Returns:
      A function that takes the arguments of `f`, arrays or `ShapeDtypeStruct`s, and returns a pair:
      the types of the results, and a `RooflineResult`.

    Raises:
      ValueError: for a collective over an axis that the mesh does not have.

    >>> import effax, effax.numpy as jnp
    >>> from effax.experimental.roofline import roofline
    >>> x = effax.ShapeDtypeStruct((4, 4), "float32")
    >>> out, result = roofline(lambda x: jnp.sin(x @ x))(x)
    >>> out
    ShapeDtypeStruct(shape=(4, 4), dtype=float32)
    >>> result.flops, result.unfused_flops, result.hbm_bytes, result.peak_hbm_bytes
    (128, 144, 192, 64)
    """
    mapped = mesh is not None and in_specs is not None and out_specs is not None
    # `shard_map` takes a list for the tuple of arguments, and trees tell the two apart.
    in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs

    @wearing(f)
    @filtered
    def counted(*args: Any) -> tuple[Any, RooflineResult]:
        if not mapped:
            program, shapes = make_jaxpr(_both_passes(f) if vjp else f, return_shape=True)(*args)
        elif vjp:
            program, shapes = _backward(f, mesh, in_specs, out_specs, args)
            shapes = _placed(shapes, mesh, in_specs)
        else:
            program, shapes = _mapped(f, mesh, in_specs, out_specs, args)
            shapes = _placed(shapes, mesh, out_specs)
        program = _on_one_device(program)
        if print_jaxpr:
            print(program)
        counter = Counter(mesh, name_of(f), pin_lhs_in_vmem, pin_rhs_in_vmem)
        return shapes, counter.program(program)

    return counted


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Mesh | AbstractMesh,
    in_specs: Any,
    out_specs: Any,
    *,
    pin_lhs_in_vmem: bool = False,
    pin_rhs_in_vmem: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[Any, RooflineResult, RooflineResult]]:
    """Return a function that counts `f` and its derivative in reverse mode, as `roofline` does.

    The backward pass is counted for arguments of bfloat16, and of int32 where they are that.

    Args:
      f: a function of arrays.
      mesh: the mesh whose axes collectives name.
      in_specs: how the arguments are cut into pieces, as for `shard_map`.
      out_specs: how the results are joined.
      pin_lhs_in_vmem: whether left operands and results of matrix products stay on the chip.
      pin_rhs_in_vmem: whether right operands of matrix products stay on the chip.
      print_jaxpr: whether to print the two programs that are counted.

    Returns:
      A function that takes the arguments of `f`, arrays or `ShapeDtypeStruct`s, and returns the
      types of the results, the `RooflineResult` of `f`, and that of the backward pass.

    Raises:
      ValueError: for a collective over an axis that the mesh does not have.

    >>> import effax
    >>> from effax.experimental.roofline import roofline_and_grad
    >>> mesh, spec = effax.sharding.AbstractMesh((4,), ("x",)), effax.P("x")
    >>> apply = roofline_and_grad(lambda x, w: x @ w, mesh, (spec, effax.P()), spec)
    >>> x, weights = (effax.ShapeDtypeStruct((8, 8), "float32") for _ in range(2))
    >>> out, forward, backward = apply(x, weights)
    >>> forward.flops, backward.flops
    (256, 512)
    >>> forward.ici_bytes, backward.ici_bytes  # the weights' cotangents are added up
    ({}, {'x': 192})
    """
    count = partial(
        roofline,
        f,
        mesh,
        in_specs,
        out_specs,
        pin_lhs_in_vmem=pin_lhs_in_vmem,
        pin_rhs_in_vmem=pin_rhs_in_vmem,
        print_jaxpr=print_jaxpr,
    )

    @wearing(f)
    @filtered
    def counted(*args: Any) -> tuple[Any, RooflineResult, RooflineResult]:
        shapes, forward = count()(*args)
        _, backward = count(vjp=True)(*tree_map(_narrow, args))
        return shapes, forward, backward

    return counted


def _narrow(x: Any) -> ShapeDtypeStruct:
    """The type of an argument of the backward pass, which runs in bfloat16."""
    dtype = int32 if typeof(x).dtype == int32 else bfloat16
    return ShapeDtypeStruct(typeof(x).shape, dtype, sharding=getattr(x, "sharding", None))


def _both_passes(f: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative, with the value for a cotangent, so that the program has to compute it."""

    def passes(*args: Any) -> Any:
        value, pull = take_vjp(f, *args)
        return _differentiable(pull(tree_map(_cotangent, value)))

    return passes


def _cotangent(x: Any) -> Any:
    return x if is_inexact(typeof(x).dtype) else np.zeros(typeof(x).shape, float0)


def _differentiable(cotangents: Any) -> Any:
    """Cotangents without those of integers: shard_map has no results of their dtype, float0."""
    return tree_map(lambda x: None if getattr(x, "dtype", None) == float0 else x, cotangents)


def _mapped(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, args: tuple[Any, ...]
) -> tuple[Program, Any]:
    """Stage `shard_map` of a function; returns the program and the types of its results."""
    abstract = isinstance(mesh, AbstractMesh)
    with planned(mesh) if abstract else nullcontext():
        mapped = shard_map(
            f, mesh=None if abstract else mesh, in_specs=in_specs, out_specs=out_specs
        )
        found: tuple[Program, Any] = make_jaxpr(mapped, return_shape=True)(*args)
        return found


def _backward(
    f: Callable[..., Any], mesh: Any, in_specs: Any, out_specs: Any, args: tuple[Any, ...]
) -> tuple[Program, Any]:
    """Stage the backward pass of a mapped function, for one device, and the cotangents' types.

    It is taken inside `shard_map`, where types tell along which axes values differ, so that
    cotangents are added up along those axes only.
    """
    _, results = _mapped(f, mesh, in_specs, out_specs, args)
    leaves, tree = tree_flatten(results)
    active = [is_inexact(x.dtype) for x in leaves]
    specs = [s for s, a in zip(broadcast_prefix(out_specs, results), active, strict=True) if a]

    def backward(args: tuple[Any, ...], cotangents: list[Any]) -> Any:
        value, pull = take_vjp(f, *args)
        given = iter(cotangents)
        values = tree_flatten(value)[0]
        filled = [next(given) if a else _cotangent(x) for x, a in zip(values, active, strict=True)]
        return _differentiable(pull(tree_unflatten(tree, filled)))

    cotangents = [x for x, a in zip(leaves, active, strict=True) if a]
    program, shapes = _mapped(backward, mesh, (in_specs, specs), in_specs, (args, cotangents))
    return _dependent(_on_one_device(program), len(cotangents)), shapes


def _dependent(program: Program, count: int) -> Program:
    """The part of a program that depends on its last inputs; what else it uses is an input."""
    given = program.inputs[len(program.inputs) - count :]
    found: set[Any] = set(given)
    equations = []
    for e in program.equations:
        if not found.isdisjoint(e.inputs):
            equations.append(e)
            found.update(e.outputs)
    used = dict.fromkeys(x for e in equations for x in e.inputs if type(x) is Variable)
    residuals = [x for x in used if x not in found]
    outputs = [x for x in program.outputs if x in found]
    return Program([*residuals, *given], equations, outputs, program.name)


def _on_one_device(program: Program) -> Program:
    """The program of the last `shard_map` in a program; the program itself where there is none."""
    program = without_dead_code(program)
    maps = [e for e in program.equations if e.effect is shard_map_effect]
    return without_dead_code(maps[-1].attributes["program"]) if maps else program


def _placed(shapes: Any, mesh: Any, specs: Any) -> Any:
    """The types of results, with the shardings that specs give them."""
    leaves, tree = tree_flatten(shapes)
    pairs = zip(leaves, broadcast_prefix(specs, shapes), strict=True)
    placed = [
        ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, spec)) for x, spec in pairs
    ]
    return tree_unflatten(tree, placed)
