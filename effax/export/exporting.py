"""`export`: a jitted function as a module for some types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from effax.api.compiling.jit import jit
from effax.api.compiling.jitted import Jit
from effax.api.compiling.stages import Traced
from effax.api.derivatives.reverse import vjp
from effax.backends.xla import artifact, portable
from effax.backends.xla.absent import over_no_devices, without_devices
from effax.backends.xla.device import default_backend
from effax.backends.xla.layout import ProgramLayout
from effax.backends.xla.mesh import Mesh, NamedSharding
from effax.effects.errors import ExportError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier
from effax.effects.mesh import AbstractMesh, current_mesh
from effax.effects.program import Program
from effax.effects.rows.control import call
from effax.effects.rows.shape import full
from effax.effects.rows.state import takes_references
from effax.effects.tree import tree_flatten, tree_structure
from effax.effects.types import ShapedArray, float0, tangent_type
from effax.export.exported import DisabledSafetyCheck, Exported, argument_name, carried
from effax.export.unknowns import Unknowns, check_scopes
from effax.interpreters.stage import stage

_FALSE: Final = np.dtype(np.bool_)
_STABLE: Final = (
    "lapack_",
    "cusolver_",
    "cu_lu_pivots_to_permutation",
    "cublas_",
    "cu_threefry2x32",
    "hipsolver_",
    "hipblas_",
    "annotate_device_placement",
    "shape_assertion",
    "stablehlo.dynamic_reduce_window",
    "mhlo.",
    "Sharding",
    "TopK",
    "Eigh",
    "Qr",
    "ProductOfElementaryHouseholderReflectors",
    "LuDecomposition",
    "ApproxTopK",
    "PartialReduce",
)
"""Beginnings of the targets that jaxlib and XLA keep for modules made by earlier versions."""


def default_export_platform() -> str:
    """Return the platform that `export` lowers for by default: that of the default device.

    >>> default_export_platform() in ("cpu", "cuda", "rocm", "tpu")
    True
    """
    return artifact.canonical_platform(default_backend())


def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:
    """Return a function that stages and lowers `fun_jit` for its arguments, as an `Exported`.

    Args:
      fun_jit: a function made by `effax.jit`.
      platforms: what to lower for: some of "cpu", "cuda", "rocm" and "tpu"; by default the
        platform of the default device.
      disabled_checks: what not to insist on.

    Returns:
      A function of arrays or `ShapeDtypeStruct`s, whose lengths may be symbolic (`symbolic_shape`).
      Of static arguments, the values are kept, and they are left out of calls.

    Raises:
      ValueError: for a function that is not jitted, and for a module that calls targets that no
        one promises to keep; when the function is given its arguments.
      NotImplementedError: for one that calls back to Python, and as a `SymbolicShapeError` for one
        that performs an effect with no form for symbolic lengths.

    >>> import effax
    >>> exported = export(effax.jit(lambda x: 2 * x))(effax.ShapeDtypeStruct((3,), "int32"))
    >>> exported.in_avals, exported.platforms
    ((i32[3],), ('cpu',))
    """
    if not isinstance(fun_jit, Jit):
        if not _is_public(fun_jit):
            raise ExportError(
                f"Function to be exported must be the result of `jit` but is: {fun_jit}"
            )
        fun_jit = jit(fun_jit)
    checks = _checked(disabled_checks)
    names = _platforms(platforms)

    @filtered
    def exporting(*args: Any, **kwargs: Any) -> Exported:
        leaves, tree = tree_flatten((args, kwargs))
        check_scopes(fun_jit._name, leaves, partial(argument_name, tree))
        with _mesh_of(leaves):
            traced: Traced = fun_jit.trace(*args, **kwargs)
            layout = _over_devices(traced.layout)
        if takes_references(traced.program):
            raise ExportError(
                f"{traced.fun_name} takes or closes over references, which an exported function "
                "can't write: pass their contents as arguments, and return the new ones"
            )
        if any(isinstance(x, Carrier) for x in traced.captured):
            raise ExportError(
                f"{traced.fun_name} can't be exported, as it closes over a traced value: pass "
                "that value as an argument"
            )
        return _exported(
            traced.program,
            traced.captured,
            traced.in_tree,
            traced.out_tree,
            names,
            checks,
            layout,
        )

    return exporting


def _mesh_of(leaves: Sequence[Any]) -> AbstractContextManager[Any]:
    """Enter the mesh that arguments are said to lie on, where it has no devices."""
    for x in leaves:
        mesh = getattr(getattr(x, "sharding", None), "mesh", None)
        if isinstance(mesh, AbstractMesh) and not mesh.empty:
            entered = current_mesh()
            known = isinstance(entered, Mesh) and mesh.describes(entered)
            return nullcontext() if known else over_no_devices(mesh)
    return nullcontext()


def _over_devices(layout: ProgramLayout) -> ProgramLayout:
    """The layout with shardings over the devices in context, where their meshes have none."""

    def placed(x: Any) -> Any:
        return x.in_context() if isinstance(x, NamedSharding) else x

    outs = None if layout.outs is None else tuple(map(placed, layout.outs))
    mesh: Any = layout.mesh
    if isinstance(mesh, AbstractMesh) and mesh.describes(current_mesh()):
        mesh = current_mesh()
    return attrs.evolve(layout, outs=outs, known=tuple(map(placed, layout.known)), mesh=mesh)


def _is_public(function: Any) -> bool:
    """Whether a function is one of effax's, as `jnp.sin`, which JAX has jitted."""
    module = getattr(function, "__module__", None) or ""
    return module.partition(".")[0] == "effax"


def _checked(disabled: Sequence[Any]) -> tuple[DisabledSafetyCheck, ...]:
    for x in disabled:
        if not isinstance(x, DisabledSafetyCheck):
            raise TypeError(f"disabled_checks must be of class DisabledSafetyCheck, got {x!r}")
    return tuple(disabled)


def _platforms(asked: Sequence[str] | None) -> tuple[str, ...]:
    if asked is None:
        return (default_export_platform(),)
    if isinstance(asked, str):
        asked = (asked,)
    found = tuple(dict.fromkeys(map(artifact.canonical_platform, asked)))
    unknown = [x for x in found if x not in ("cpu", "cuda", "rocm", "tpu")]
    if unknown or not found:
        raise ExportError(
            "platforms must be one or several of 'cpu', 'cuda', 'rocm' and 'tpu', got "
            f"{tuple(asked)}"
        )
    return found


def _exported(
    program: Program,
    captured: Sequence[Any],
    in_tree: Any,
    out_tree: Any,
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...],
    layout: ProgramLayout,
    in_avals: tuple[ShapedArray, ...] | None = None,
) -> Exported:
    avals = program.in_types[len(captured) :] if in_avals is None else in_avals
    unknowns = Unknowns.of(program.name, avals, partial(argument_name, in_tree))
    text, callbacks = portable.module_text(program, captured, platforms, layout, unknowns)
    if callbacks:
        raise NotImplementedError(
            f"serialization of host_callbacks is not yet implemented: {program.name} calls Python "
            "functions, which an exported module can't hold; leave the callbacks out"
        )
    _check_targets(text, program.name, checks)

    def derived() -> Exported:
        return _exported_vjp(program, captured, platforms, checks, layout, avals)

    several = not layout.is_single
    return Exported(
        program.name,
        in_tree,
        avals,
        out_tree,
        program.out_types,
        platforms,
        checks,
        artifact.to_artifact(text, several),
        nr_devices=len(layout.where.devices),
        vjp=derived,
        in_named_shardings=_ins(program, captured, layout) if several else None,
        out_named_shardings=_outs(program, layout) if several else None,
    )


def _ins(
    program: Program, captured: Sequence[Any], layout: ProgramLayout
) -> tuple[NamedSharding, ...]:
    """The shardings of the arguments, in the words of their meshes without the devices."""
    found = []
    n = len(captured)
    for place, type in zip(layout.ins[n:], program.in_types[n:], strict=True):
        named = layout.name(place, type.ndim)
        if not isinstance(named, NamedSharding):
            raise NotImplementedError(
                f"export of {program.name}: an argument of type {type.str_short()} lies as "
                f"{place}, which no mesh has words for; put it on a mesh first (device_put)"
            )
        found.append(named.update(mesh=without_devices(named.mesh)))
    return tuple(found)


def _outs(program: Program, layout: ProgramLayout) -> tuple[NamedSharding | None, ...]:
    asked = layout.outs or (None,) * len(program.out_types)
    return tuple(
        s.update(mesh=without_devices(s.mesh))
        if isinstance(s, NamedSharding) and not s.is_constraint
        else None
        for s in asked
    )


def _check_targets(text: str, name: str, checks: Sequence[DisabledSafetyCheck]) -> None:
    allowed = {x.is_custom_call() for x in checks}
    strange = [
        target
        for target in sorted(artifact.custom_calls(text))
        if not target.startswith(_STABLE) and target not in allowed
    ]
    if strange:
        raise ExportError(
            "Cannot serialize code with custom calls whose targets have no compatibility "
            f"guarantees: {name} calls {', '.join(strange)}. If the module's readers have these, "
            "pass disabled_checks=[DisabledSafetyCheck.custom_call(name), ...]"
        )


def _exported_vjp(
    program: Program,
    captured: Sequence[Any],
    platforms: tuple[str, ...],
    checks: tuple[DisabledSafetyCheck, ...],
    layout: ProgramLayout,
    in_types: tuple[ShapedArray, ...],
) -> Exported:
    cotangent_types = [tangent_type(t) for t in program.out_types]

    n = len(in_types)
    # Zeros of dtype float0 are left out: NumPy can't make them with symbolic lengths.
    movable = [i for i, t in enumerate(in_types) if tangent_type(t).dtype != float0]
    outs = [i for i, t in enumerate(cotangent_types) if t.dtype != float0]

    def flat(*values: Any) -> list[Any]:
        def function(*moved: Any) -> list[Any]:
            leaves = list(values[:n])
            for i, x in zip(movable, moved, strict=True):
                leaves[i] = x
            results = call(*captured, *leaves, program=program, name=program.name)
            return [results[i] for i in outs]

        _, pull = vjp(function, *[values[i] for i in movable])
        found = dict(zip(movable, pull([values[n + i] for i in outs]), strict=True))
        return [
            found[i] if i in found else full(t.shape, False, _FALSE) for i, t in enumerate(in_types)
        ]

    avals = (*in_types, *cotangent_types)
    staged = stage(flat, [carried(t) for t in avals], f"{program.name}_vjp")
    made = _exported(
        staged.program,
        staged.captured,
        tree_structure((tuple(avals), {})),
        tree_structure(tuple(in_types)),
        platforms,
        checks,
        _layout_of_vjp(layout, len(captured), len(staged.captured), len(program.out_types)),
        avals,  # the program takes Booleans for those of `float0`
    )
    return attrs.evolve(made, out_avals=tuple(map(tangent_type, in_types)))


def _layout_of_vjp(layout: ProgramLayout, before: int, captured: int, outs: int) -> ProgramLayout:
    """The layout of a derivative: cotangents lie as their values do, where that is known."""
    asked = layout.outs or (None,) * outs
    own = layout.ins[before:]
    known = [s is not None and not getattr(s, "is_constraint", False) for s in asked]
    cotangents = [
        s.placement() if s is not None and k else layout.where
        for s, k in zip(asked, known, strict=True)
    ]
    named = dict.fromkeys(
        [*layout.known, *(s for s in asked if isinstance(s, NamedSharding) and not s.is_constraint)]
    )
    return attrs.evolve(
        layout,
        ins=(*[layout.where] * captured, *own, *cotangents),
        outs=None if layout.is_single else own,
        known=tuple(named),
    )
