"""`Exported`: a function as a module for some types, cut loose from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import attrs
import numpy as np

from effax.api.custom.vjp import custom_vjp
from effax.backends.xla import artifact
from effax.backends.xla.mesh import NamedSharding
from effax.effects.errors import ExportError
from effax.effects.frames import filtered
from effax.effects.handler import bottom, innermost
from effax.effects.mismatch import mismatches
from effax.effects.rows.foreign import Module, exported_call
from effax.effects.rows.shape import full
from effax.effects.tree import (
    PyTreeDef,
    keystr,
    registry,
    tree_flatten,
    tree_flatten_with_path,
    tree_unflatten,
)
from effax.effects.types import ShapedArray, float0, typeof
from effax.effects.value import is_symbolic_length
from effax.export.files import written
from effax.export.jax_files import written_as_jax
from effax.export.unknowns import Unknowns

minimum_supported_calling_convention_version: Final = 9
maximum_supported_calling_convention_version: Final = 10


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
    """A function that was staged and lowered, and needs Python no longer.

    `call` takes arguments of the tree, shapes and dtypes that it was exported for, where symbolic
    lengths stand for all numbers from 1 that satisfy the constraints; `serialize`
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
    _in_named_shardings: tuple[NamedSharding | None, ...] | None = None
    _out_named_shardings: tuple[NamedSharding | None, ...] | None = None
    _kept: tuple[int, ...] | None = None
    """The operands that the module takes, where JAX left some out; None for all."""
    _unknowns: Unknowns | None = attrs.field(init=False)
    _module: Module = attrs.field(init=False)

    @_unknowns.default
    def _default_unknowns(self) -> Unknowns | None:
        types = [carried(t) for t in self._kept_of(self.in_avals)]
        return Unknowns.of(self.fun_name, types, self._named_kept)

    @_module.default
    def _default_module(self) -> Module:
        disabled = {str(x) for x in self.disabled_safety_checks}
        return Module(
            self.fun_name,
            self.mlir_module_serialized,
            tuple(carried(t) for t in self._kept_of(self.in_avals)),
            tuple(map(carried, self.out_avals)),
            self.platforms,
            str(DisabledSafetyCheck.platform()) in disabled,
            self.nr_devices,
            tuple(self._kept_of(self._in_named_shardings or ())),
            self._out_named_shardings or (),
            None if self._unknowns is None else self._unknowns.results,
        )

    @property
    def module_kept_var_idx(self) -> tuple[int, ...]:
        """The leaves of the arguments that the module takes: all, or those that JAX kept."""
        return tuple(range(len(self.in_avals))) if self._kept is None else self._kept

    def _kept_of(self, values: Sequence[Any]) -> Sequence[Any]:
        return values if self._kept is None or not values else [values[i] for i in self._kept]

    @property
    def uses_global_constants(self) -> bool:
        """Whether `main` takes the platform's number, or has symbolic lengths."""
        return len(self.platforms) > 1 or self._unknowns is not None

    @property
    def in_shardings_hlo(self) -> tuple[None, ...]:
        """None for each argument, as in JAX now; `in_shardings_jax` has the shardings."""
        return (None,) * len(self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[None, ...]:
        """None for each result, as in JAX now; `out_shardings_jax` has the shardings."""
        return (None,) * len(self.out_avals)

    def in_shardings_jax(self, mesh: Any) -> tuple[NamedSharding | None, ...]:
        """Return the shardings of the leaves of the arguments, None where one was not given.

        Args:
          mesh: a mesh with the axes of that which the function was exported for, with devices or
            without.

        Raises:
          ValueError: for a mesh with other axes.
        """
        return _over(mesh, self._in_named_shardings or self.in_shardings_hlo)

    def out_shardings_jax(self, mesh: Any) -> tuple[NamedSharding | None, ...]:
        """Return the shardings of the leaves of the results, None where the compiler chose.

        Args:
          mesh: as for `in_shardings_jax`.
        """
        return _over(mesh, self._out_named_shardings or self.out_shardings_hlo)

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
    def serialize(
        self, vjp_order: int = 0, *, format: Literal["effax", "jax"] = "effax"
    ) -> bytearray:
        """Return the function as bytes, with its derivatives of reverse mode up to some order.

        Args:
          vjp_order: how often the function can be differentiated when it is read.
          format: "effax" has a digest, and all trees and dtypes of effax; `jax.export.deserialize`
            reads "jax". `deserialize` here reads both.

        Raises:
          ValueError: for a tree with nodes that were not registered for it (see
            `register_pytree_node_serialization`), for what the format can't hold, and where a
            derivative does not exist.
        """
        if vjp_order < 0:
            raise ExportError(
                f"serialize: vjp_order must not be negative, got {vjp_order}; 0 keeps no "
                "derivatives"
            )
        if format not in ("effax", "jax"):
            raise ExportError(f"serialize: format must be 'effax' or 'jax', got {format!r}")
        if format == "jax":
            return written_as_jax(self, vjp_order)
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
        values = [without_float0(x) for x in leaves]
        self._check(values)
        if innermost() is bottom or self._vjp is None:
            results = exported_call(*self._kept_of(values), module=self._module)
        else:
            results = self._with_derivative()(*values)
        return tree_unflatten(
            self.out_tree,
            [
                np.zeros(typeof(x).shape, float0) if t.dtype == float0 else x
                for x, t in zip(results, self.out_avals, strict=True)
            ],
        )

    def _with_derivative(self) -> Callable[..., list[Any]]:
        def forward(*values: Any) -> list[Any]:
            return list(exported_call(*self._kept_of(values), module=self._module))

        def with_residuals(*values: Any) -> tuple[list[Any], tuple[Any, ...]]:
            return made(*values), values

        def backward(values: tuple[Any, ...], cotangents: list[Any]) -> tuple[Any, ...]:
            return tuple(self.vjp().call(*values, *cotangents))

        made = custom_vjp(forward)
        made.defvjp(with_residuals, backward)
        return made

    def _check(self, values: Sequence[Any]) -> None:
        for i, (x, aval) in enumerate(zip(values, self.in_avals, strict=True)):
            wanted = carried(aval)
            found = typeof(x)
            fits = found.shape == wanted.shape or _is_of(found.shape, wanted.shape)
            if fits and found.dtype == wanted.dtype:
                continue
            what, place = "Shape", argument_name(self.in_tree, i)
            expected: Any = wanted.shape
            called: Any = found.shape
            if found.dtype != wanted.dtype:
                what, expected, called = "Dtype", wanted.dtype.name, found.dtype.name
            elif found.ndim != wanted.ndim:
                what = "Rank"
            else:
                axes = zip(found.shape, wanted.shape, strict=True)
                axis = next(k for k, (n, m) in enumerate(axes) if not _is_of((n,), (m,)))
                place = f"{place}.shape[{axis}] (expected same constant)"
            raise ExportError(
                f"{what} mismatch for {place}: expected {expected} and called with "
                f"{called}; {self.fun_name} was exported for {wanted.str_short()}"
            )
        if self._unknowns is not None:
            shapes = [typeof(x).shape for x in self._kept_of(values)]
            self._unknowns.numbers(shapes, self._named_kept)

    def _named_kept(self, i: int) -> str:
        return argument_name(self.in_tree, self.module_kept_var_idx[i])

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


def argument_name(tree: PyTreeDef, i: int) -> str:
    """Return what messages call a leaf of the arguments `(args, kwargs)`, as in `args[0]['x']`."""
    filled = tree_unflatten(tree, range(tree.num_leaves))
    (first, *rest), _ = tree_flatten_with_path(filled)[0][i]
    return ("args", "kwargs")[first.idx] + keystr(tuple(rest))


def _is_of(shape: tuple[int, ...], symbolic: tuple[Any, ...]) -> bool:
    """Whether a shape may be one with symbolic lengths: the other lengths are the same."""
    return len(shape) == len(symbolic) and all(
        n == m or is_symbolic_length(m) for n, m in zip(shape, symbolic, strict=True)
    )


def _over(mesh: Any, shardings: Sequence[NamedSharding | None]) -> tuple[NamedSharding | None, ...]:
    for s in shardings:
        if s is not None and s.mesh.shape_tuple != mesh.shape_tuple:
            raise ValueError(
                f"NamedSharding new mesh {mesh} does not match the mesh used for export {s.mesh}; "
                "give one with the same axes"
            )
    return tuple(None if s is None else s.update(mesh=mesh) for s in shardings)


def _named(path: Sequence[Any]) -> str:
    if not path:
        return "(args, kwargs)"
    return ("args", "kwargs")[path[0].idx] + "".join(map(str, path[1:]))


_FALSE: Final = np.dtype(np.bool_)


def carried(type: ShapedArray) -> ShapedArray:
    """The type by which a module takes values: those of `float0` go as booleans."""
    return ShapedArray(type.shape, _FALSE) if type.dtype == float0 else type.strong()


def without_float0(x: Any) -> Any:
    """The value by which a module takes another one: zeros that are False for `float0`."""
    if getattr(x, "dtype", None) == float0:
        return full(x.shape, False, _FALSE)
    return x
