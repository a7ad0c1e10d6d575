"""`export`: a jitted function as a module for some types, and `Exported`, what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.api.compiling.jitted import Jit
from effax.api.compiling.stages import Traced
from effax.api.custom.vjp import custom_vjp
from effax.api.derivatives.reverse import vjp
from effax.backends.xla import artifact, portable
from effax.backends.xla.device import default_backend
from effax.effects.errors import ExportError
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, bottom, innermost
from effax.effects.mismatch import mismatches
from effax.effects.program import Program
from effax.effects.rows.control import call
from effax.effects.rows.foreign import Module, exported_call
from effax.effects.rows.shape import full
from effax.effects.rows.state import takes_references
from effax.effects.tree import (
    keystr,
    registry,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from effax.effects.types import ShapedArray, float0, tangent_type, typeof
from effax.export.files import written
from effax.interpreters.stage import stage

minimum_supported_calling_convention_version: Final = 9
maximum_supported_calling_convention_version: Final = 10

_STABLE: Final = (
    "lapack_",
    "cusolver_",
    "cublas_",
    "cu_threefry2x32",
    "hipsolver_",
    "hipblas_",
    "annotate_device_placement",
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


@attrs.frozen(slots=True)
class DisabledSafetyCheck:
    """A check that `export` and `Exported.call` leave out."""

    _impl: str

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Let an exported function run on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Let a module call a target that no one promises to keep."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The target that is allowed, or None if this is about something else."""
        kind, _, target = self._impl.partition(":")
        return target if kind == "custom_call" else None

    def __str__(self) -> str:
        return self._impl

    __repr__ = __str__


@attrs.frozen(slots=True, eq=False, repr=False)
class Exported:
    """A function that was staged, lowered, and cut loose from Python.

    `call` takes arguments of the tree, shapes and dtypes that it was exported for; `serialize`
    gives bytes that `deserialize` makes it of again.
    """

    fun_name: str
    """The name of the function."""
    in_tree: Any
    """The tree of the arguments, `(args, kwargs)`, without the static ones."""
    in_avals: tuple[ShapedArray, ...]
    """The types of the arguments' leaves; keys are known by their words."""
    out_tree: Any
    """The tree of the results."""
    out_avals: tuple[ShapedArray, ...]
    """The types of the results' leaves."""
    platforms: tuple[str, ...]
    """The platforms that it was lowered for: some of "cpu", "cuda", "rocm", "tpu"."""
    disabled_safety_checks: tuple[DisabledSafetyCheck, ...]
    mlir_module_serialized: bytes
    """The module in StableHLO's portable form, as bytes."""
    calling_convention_version: int = maximum_supported_calling_convention_version
    """Version of how `main` is called: the leaves in order, before them the platform's number (an
    i32 scalar) where there are several; it is JAX's."""
    nr_devices: int = 1
    """The number of devices that it runs on."""
    _vjp: Callable[[], Exported] | None = None
    _module: Module = attrs.field(init=False)

    @_module.default
    def _default_module(self) -> Module:
        disabled = {str(x) for x in self.disabled_safety_checks}
        return Module(
            self.fun_name,
            self.mlir_module_serialized,
            tuple(map(_carried, self.in_avals)),
            tuple(map(_carried, self.out_avals)),
            self.platforms,
            str(DisabledSafetyCheck.platform()) in disabled,
        )

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """The leaves of the arguments that the module takes: all of them."""
        return tuple(range(len(self.in_avals)))

    @property
    def uses_global_constants(self) -> bool:
        """Whether `main` takes the platform's number."""
        return len(self.platforms) > 1

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """The shardings of the arguments: none."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """The shardings of the results: none."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """Return the shardings of the arguments over a mesh: none."""
        return self.in_shardings_hlo

    def out_shardings_jax(self, mesh: Any) -> tuple[None, ...]:
        """Return the shardings of the results over a mesh: none."""
        return self.out_shardings_hlo

    @property
    def ordered_effects(self) -> tuple[()]:
        """The ordered effects of the function: none."""
        return ()

    @property
    def unordered_effects(self) -> tuple[()]:
        """The unordered effects of the function: none."""
        return ()

    def mlir_module(self) -> str:
        """The module as text."""
        return artifact.to_text(self.mlir_module_serialized)

    def has_vjp(self) -> bool:
        """Whether `vjp` has something to give."""
        return self._vjp is not None

    @filtered
    def vjp(self) -> Exported:
        """The exported function of reverse mode.

        It takes the leaves of the arguments and a cotangent for each leaf of the results, and
        gives a cotangent for each leaf of the arguments (`float0` for integers).

        Raises `ValueError` where none was kept: `serialize` keeps as many as it is told to.
        """
        if self._vjp is None:
            raise ExportError(
                f"No VJP is available for the exported {self.fun_name}: it was serialized without; "
                "serialize it with a higher vjp_order"
            )
        return self._vjp()

    @filtered
    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, with its derivatives of reverse mode up to some order.

        Raises `ValueError` for a tree with nodes that were not registered for it (see
        `register_pytree_node_serialization`), and where a derivative does not exist.
        """
        if vjp_order < 0:
            raise ExportError(
                f"serialize: vjp_order must not be negative, got {vjp_order}; 0 keeps no "
                "derivatives"
            )
        return written(self, self.vjp().serialize(vjp_order - 1) if vjp_order else b"")

    @filtered
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; under `jit`, `grad` and `vmap` too.

        Gradients need the stored `vjp`. Lanes of a batch are called one after another.
        Raises `ValueError` for arguments of another tree, other shapes or dtypes, and for a
        platform that it was not exported for.
        """
        leaves, tree = tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise ExportError(self._other_tree((args, kwargs)))
        values = [_without_float0(x) for x in leaves]
        self._check(values)
        if innermost() is bottom or self._vjp is None:
            results = exported_call(*values, module=self._module)
        else:
            results = self._with_derivative()(*values)
        return tree_unflatten(
            self.out_tree,
            [
                np.zeros(t.shape, float0) if t.dtype == float0 else x
                for x, t in zip(results, self.out_avals, strict=True)
            ],
        )

    def _with_derivative(self) -> Callable[..., list[Any]]:
        def forward(*values: Any) -> list[Any]:
            return list(exported_call(*values, module=self._module))

        def with_residuals(*values: Any) -> tuple[list[Any], tuple[Any, ...]]:
            return made(*values), values

        def backward(values: tuple[Any, ...], cotangents: list[Any]) -> tuple[Any, ...]:
            return tuple(self.vjp().call(*values, *cotangents))

        made = custom_vjp(forward)
        made.defvjp(with_residuals, backward)
        return made

    def _check(self, values: Sequence[Any]) -> None:
        for i, (x, wanted) in enumerate(zip(values, self._module.in_types, strict=True)):
            found = typeof(x)
            if found.shape == wanted.shape and found.dtype == wanted.dtype:
                continue
            if found.dtype == wanted.dtype:
                what, expected, called = "Shape", str(wanted.shape), str(found.shape)
            else:
                what, expected, called = "Dtype", wanted.dtype.name, found.dtype.name
            raise ExportError(
                f"{what} mismatch for {self._place(i)}: expected {expected} and called with "
                f"{called}; {self.fun_name} was exported for {wanted.str_short()}"
            )

    def _place(self, i: int) -> str:
        filled = tree_unflatten(self.in_tree, range(len(self.in_avals)))
        (first, *rest), _ = tree_flatten_with_path(filled)[0][i]
        return ("args", "kwargs")[first.idx] + keystr(tuple(rest))

    def _other_tree(self, given: Any) -> str:
        expected = tree_unflatten(self.in_tree, range(len(self.in_avals)))
        found = [
            f"   - {_named(m.path)} is {m.second} in the invocation and {m.first} when exported, "
            f"so {m.explanation}"
            for m in mismatches(registry, expected, given, None, prefix=False)
        ]
        return (
            "The invocation args and kwargs must have the same pytree structure as those that "
            f"{self.fun_name!r} was exported with, and differ:\n" + "\n".join(found)
        )

    def __str__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"

    def __repr__(self) -> str:
        return (
            f"Exported(fun_name={self.fun_name!r}, in_avals={self.in_avals}, "
            f"out_avals={self.out_avals}, platforms={self.platforms})"
        )


def _named(path: Sequence[Any]) -> str:
    if not path:
        return "(args, kwargs)"
    return ("args", "kwargs")[path[0].idx] + "".join(map(str, path[1:]))


_FALSE: Final = np.dtype(np.bool_)


def _carried(type: ShapedArray) -> ShapedArray:
    """The type by which a module takes values: those of `float0` go as booleans."""
    return ShapedArray(type.shape, _FALSE) if type.dtype == float0 else type.strong()


def _without_float0(x: Any) -> Any:
    if getattr(x, "dtype", None) == float0:
        return full(x.shape, False, _FALSE)
    return x


# ------------------------------------------------------------------------------------- exporting


def default_export_platform() -> str:
    """The platform that `export` lowers for when not told: that of the default device.

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
    """A function that stages and lowers `fun_jit` for its arguments, as an `Exported`.

    Args:
      fun_jit: a function made by `effax.jit`.
      platforms: what to lower for: some of "cpu", "cuda", "rocm" and "tpu"; by default the
        platform of the default device.
      disabled_checks: what not to insist on.

    Returns:
      A function of arrays or `ShapeDtypeStruct`s. Of static arguments, the values are kept, and
      they are left out of calls.

    Raises:
      ValueError: for a function that is not jitted, and for a module that calls targets that no
        one promises to keep; when the function is given its arguments.
      NotImplementedError: for one that calls back to Python.

    >>> import effax
    >>> exported = export(effax.jit(lambda x: 2 * x))(effax.ShapeDtypeStruct((3,), "int32"))
    >>> exported.in_avals, exported.platforms
    ((i32[3],), ('cpu',))
    """
    if not isinstance(fun_jit, Jit):
        raise ExportError(f"Function to be exported must be the result of `jit` but is: {fun_jit}")
    checks = _checked(disabled_checks)
    names = _platforms(platforms)

    @filtered
    def exporting(*args: Any, **kwargs: Any) -> Exported:
        traced: Traced = fun_jit.trace(*args, **kwargs)
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
            traced.program, traced.captured, traced.in_tree, traced.out_tree, names, checks
        )

    return exporting


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
) -> Exported:
    text, callbacks = portable.module_text(program, captured, platforms)
    if callbacks:
        raise NotImplementedError(
            f"serialization of host_callbacks is not yet implemented: {program.name} calls Python "
            "functions, which an exported module can't hold; leave the callbacks out"
        )
    _check_targets(text, program.name, checks)

    def derived() -> Exported:
        return _exported_vjp(program, captured, platforms, checks)

    return Exported(
        program.name,
        in_tree,
        program.in_types[len(captured) :],
        out_tree,
        program.out_types,
        platforms,
        checks,
        artifact.to_artifact(text),
        vjp=derived,
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
) -> Exported:
    in_types = program.in_types[len(captured) :]
    cotangent_types = [tangent_type(t) for t in program.out_types]

    def function(*leaves: Any) -> list[Any]:
        return list(call(*captured, *leaves, program=program, name=program.name))

    def flat(*values: Any) -> list[Any]:
        given = [
            np.zeros(t.shape, float0) if t.dtype == float0 else x
            for x, t in zip(values[len(in_types) :], cotangent_types, strict=True)
        ]
        _, pull = vjp(function, *values[: len(in_types)])
        return [_without_float0(x) for x in pull(given)]

    avals = (*in_types, *cotangent_types)
    staged = stage(flat, [_carried(t) for t in avals], f"{program.name}_vjp")
    made = _exported(
        staged.program,
        staged.captured,
        tree_structure((tuple(avals), {})),
        tree_structure(tuple(in_types)),
        platforms,
        checks,
    )
    return attrs.evolve(made, in_avals=avals, out_avals=tuple(map(tangent_type, in_types)))
