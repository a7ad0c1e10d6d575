"""Foreign functions: code in C++ (or CUDA) that programs call by a name.

A handler is written against XLA's header (`include_dir()` has it), compiled to a shared library,
registered by `register_ffi_target`, and called by `ffi_call` like any function of arrays:

    library = ctypes.cdll.LoadLibrary("librms_norm.so")
    ffi.register_ffi_target("rms_norm", ffi.pycapsule(library.RmsNorm))
    y = ffi.ffi_call("rms_norm", effax.ShapeDtypeStruct(x.shape, x.dtype))(x, eps=np.float32(1e-5))

Its derivative is the author's to give (`custom_vjp`), and so is what it makes of a batch
(`vmap_method`).
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from effax import random
from effax.backends.xla import foreign_targets, ir
from effax.backends.xla.analysis import Layout
from effax.backends.xla.lowering.foreign import attribute_text
from effax.effects.frames import filtered
from effax.effects.rows import foreign
from effax.effects.rows.callback import VMAP_METHODS
from effax.effects.tree import tree_flatten, tree_leaves, tree_unflatten
from effax.effects.types import ShapedArray, typeof
from effax.keys.arrays import KeyArray

__all__ = [
    "build_ffi_lowering_function",
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
]
__dir__ = __all__.copy

# The classes of functions that ctypes loads.
_FUNCTION: Final[Any] = ctypes.CFUNCTYPE(None).__mro__[1]


def include_dir() -> str:
    """Return the folder of the headers (`xla/ffi/api/ffi.h`, ...), for a compiler's `-I`.

    >>> import os
    >>> os.path.exists(os.path.join(include_dir(), "xla", "ffi", "api", "ffi.h"))
    True
    """
    return foreign_targets.include_folder()


def pycapsule(funcptr: Any) -> Any:
    """Return a function of a library that ctypes loaded, as the capsule that is registered.

    Args:
      funcptr: the function, or its address: an integer, as numba gives for what it compiled.

    >>> import ctypes
    >>> pycapsule(ctypes.pythonapi.Py_IncRef)
    <capsule object NULL at ...>
    """
    known = isinstance(funcptr, (_FUNCTION, ctypes.c_void_p))
    if not (funcptr if known else isinstance(funcptr, int) and funcptr >= mmap.PAGESIZE):
        raise TypeError(
            f"pycapsule: expected a function of a library loaded by ctypes, or its address, got "
            f"{funcptr!r}"
        )
    made = ctypes.pythonapi.PyCapsule_New
    made.restype = ctypes.py_object
    made.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return made(ctypes.cast(funcptr, ctypes.c_void_p), None, None)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Make a handler known to XLA by a name.

    Args:
      name: what `ffi_call` calls it by.
      fn: a capsule of its function, see `pycapsule`; or a dict of them by stage: "instantiate",
        "prepare", "initialize", "execute".
      platform: "cpu" or "cuda".
      api_version: 1 for handlers of XLA's FFI, 0 for custom calls of the old kind.
      **kwargs: `traits`, a number of flags (0).

    Raises:
      TypeError: for what is no capsule.
      ValueError: for a name that is taken, and for another platform.
    """
    traits = kwargs.pop("traits", 0)
    if kwargs:
        raise TypeError(
            f"register_ffi_target got unknown options {sorted(kwargs)}; it takes traits"
        )
    foreign_targets.register_target(name, fn, platform, api_version, traits)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Make the type of a handler's state known to XLA by a name.

    Args:
      name: the name of the type.
      type_registration: a dict of capsules: "type_id", and "type_info" where there is one.
      platform: "cpu" or "cuda".
    """
    foreign_targets.register_type(name, type_registration, platform)


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Declare that a target computes the rows of its operands each by itself.

    Args:
      name: the name of the target.
    """
    foreign_targets.register_batch_partitionable(name)


@filtered
def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[Sequence[int] | None] | None = None,
    output_layouts: Any = None,
    input_output_aliases: Mapping[int, int] | None = None,
    custom_call_api_version: int = 4,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays that calls a registered handler.

    Args:
      target_name: the name under which it was registered.
      result_shape_dtypes: a tree of the results' shapes and dtypes (`ShapeDtypeStruct`, arrays).
      has_side_effect: whether it also acts, so that it is called even where no one uses its
        results.
      vmap_method: what `vmap` makes of it. "sequential": it is called for each lane
        ("sequential_unrolled": in a loop written out); "expand_dims": once, batched operands with
        one more axis in front, the others with an axis of length 1; "broadcast_all": once, all
        operands with the batch axis; "legacy_vectorized": once, the others as they are.
      input_layouts: the order of axes in memory, the slowest first, of each operand; None for the
        usual one.
      output_layouts: the same for the results: one order for one result, else a sequence.
      input_output_aliases: which operand's memory which result takes, by positions.
      custom_call_api_version: 4 for handlers of XLA's FFI, less for custom calls of older kinds.
      legacy_backend_config: what a handler of an older kind is told.

    Returns:
      A function of arrays, and of static values by keyword, which are the handler's attributes:
      bools, ints (i64), floats (f64), strings, NumPy's scalars and arrays (of their dtypes),
      dtypes, tuples. It gives a tree of arrays like `result_shape_dtypes`.

    Raises:
      ValueError: for an unknown vmap_method, and for layouts and aliases that don't fit; and under
        differentiation (wrap the call in `custom_jvp` or `custom_vjp`).
      NotImplementedError: under `vmap` without vmap_method.
      JaxRuntimeError: where no such target is registered, or the handler fails.

    >>> import effax, numpy as np
    >>> type_of_result = effax.ShapeDtypeStruct((3,), np.float32)
    >>> def half(x):
    ...     return ffi_call("half", type_of_result, vmap_method="sequential")(x, by=np.float32(2))
    >>> effax.make_program(half)(np.ones(3, np.float32)).equations[0].attributes["target"].name
    'half'
    """
    if not isinstance(target_name, str):
        raise TypeError(f"ffi_call: target_name must be a string, got {target_name!r}")
    if vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be one of the allowed methods {list(VMAP_METHODS)}, but got: "
            f"{vmap_method}"
        )
    if legacy_backend_config is not None and custom_call_api_version >= 4:
        raise ValueError(
            "The use of the legacy_backend_config parameter requires custom_call_api_version < 4; "
            f"got {custom_call_api_version}; handlers of XLA's FFI take attributes by keyword"
        )
    announced, out_tree = tree_flatten(
        result_shape_dtypes,
        is_leaf=lambda x: x is None or (x is not result_shape_dtypes and not tree_leaves(x)),
    )
    for i, x in enumerate(announced):
        if not hasattr(x, "shape") or not hasattr(x, "dtype"):
            raise ValueError(
                "All elements of result_shape_dtypes must have a shape and a dtype, got "
                f"{x!r} at position {i}"
            )
    types = tuple([ShapedArray(x.shape, x.dtype) for x in announced])
    one = out_tree == tree_flatten(0)[1]
    outs = [output_layouts] if one and output_layouts is not None else output_layouts

    @filtered
    def called(*args: Any, **attributes: Any) -> Any:
        # Keys are passed to a handler as their words.
        args = tuple([random.key_data(x) if isinstance(x, KeyArray) else x for x in args])
        if attributes and custom_call_api_version < 4:
            raise ValueError(
                "The use of ffi_call attributes requires a custom call API version of at least 4; "
                f"got api_version={custom_call_api_version}; older kinds take "
                "legacy_backend_config"
            )
        operands = [typeof(x) for x in args]
        target = foreign.Target(
            target_name,
            tuple([(name, attribute_text(x)) for name, x in attributes.items()]),
            _layouts("input", input_layouts, operands),
            _layouts("output", outs, types),
            _aliases(input_output_aliases, operands, types),
            custom_call_api_version,
            legacy_backend_config or "",
        )
        effect = foreign.acting_foreign_call if has_side_effect else foreign.foreign_call
        results = effect(*args, target=target, result_types=types, vmap_method=vmap_method)
        return tree_unflatten(out_tree, results)

    return called


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Sequence[Any]]:
    """Return a rule of `interpreters.mlir.register_lowering` that calls a registered function.

    Args:
      call_target_name: the name that the function is registered under.
      operand_layouts, result_layouts: of each array a `Layout`, a tuple of its axes from minor to
        major, or None for the last axis first, as which all are taken by default.
      backend_config: MLIR attributes by name; parameters of the effect are added to them. Text,
        with an `api_version` below 4.
      skip_ffi_layout_processing: whether nothing is said of layouts.
      **lowering_args: for `interpreters.mlir.custom_call`, such as `has_side_effect`.

    Raises:
      ValueError: when it lowers, if `backend_config` or parameters don't suit the `api_version`.

    >>> rule = ffi_lowering("rms_norm", has_side_effect=True)
    """
    build = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def lower(ctx: Any, *operands: Any, **params: Any) -> Sequence[Any]:
        return list(build(ctx, *operands, **params).results)

    return lower


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Return what `ffi_lowering` does, as a function that gives the MLIR operation itself.

    Args:
      call_target_name, operand_layouts, result_layouts, backend_config: as of `ffi_lowering`.
      skip_ffi_layout_processing, **lowering_args: as of `ffi_lowering`.

    >>> build = build_ffi_lowering_function("rms_norm")
    """

    def build(ctx: Any, *operands: Any, **params: Any) -> Any:
        said: dict[str, Any] = {"api_version": 4, **lowering_args}
        if said["api_version"] < 4:
            if params:
                raise ValueError(
                    "The use of ffi_call attributes requires a custom call API version of at least "
                    f"4; got api_version={said['api_version']}."
                )
            said["backend_config"] = backend_config or ""
        elif backend_config is None or isinstance(backend_config, Mapping):
            attributes = {name: ir.ir_attribute(value) for name, value in params.items()}
            said["backend_config"] = {**(backend_config or {}), **attributes}
        else:
            raise ValueError("When api_version > 4, backend_config must be a dictionary.")
        said.setdefault("result_types", [ir.aval_to_ir_type(t) for t in ctx.avals_out])
        if not skip_ffi_layout_processing:
            said["operand_layouts"] = _minor_to_major(ctx.avals_in, operand_layouts)
            said["result_layouts"] = _minor_to_major(ctx.avals_out, result_layouts)
        return ir.custom_call(call_target_name, operands=operands, **said)

    return build


def _minor_to_major(
    types: Sequence[ShapedArray], layouts: Sequence[Any] | None
) -> list[Sequence[int]]:
    """The order of axes of each array, as `ffi_lowering` is told them."""
    return [
        ir.row_major(t) if x is None else x.major_to_minor[::-1] if isinstance(x, Layout) else x
        for t, x in zip(types, layouts or [None] * len(types), strict=True)
    ]


def _layouts(
    what: str, asked: Sequence[Sequence[int] | None] | None, types: Sequence[ShapedArray]
) -> tuple[tuple[int, ...] | None, ...] | None:
    if asked is None:
        return None
    if len(asked) != len(types):
        raise ValueError(
            f"The number of {what} arguments ({len(types)}) must equal the number of {what} "
            f"layouts ({len(asked)})."
        )
    orders = [None if order is None else tuple(order) for order in asked]
    for order, t in zip(orders, types, strict=True):
        if order is not None and sorted(order) != list(range(t.ndim)):
            raise ValueError(
                f"{what}_layouts: expected a permutation of {tuple(range(t.ndim))}, the axes of "
                f"{t.str_short()}, got {order}"
            )
    return tuple(orders)


def _aliases(
    asked: Mapping[int, int] | None,
    operands: Sequence[ShapedArray],
    results: Sequence[ShapedArray],
) -> tuple[tuple[int, int], ...]:
    pairs = tuple((asked or {}).items())
    for i, j in pairs:
        for at, what, types in ((i, "input", operands), (j, "output", results)):
            if not 0 <= at < len(types):
                raise ValueError(
                    f"input_output_aliases contains the mapping '{i}:{j}' with {what} index {at} "
                    f"outside the range [0, {len(types)})."
                )
        if (operands[i].shape, operands[i].dtype) != (results[j].shape, results[j].dtype):
            raise ValueError(
                f"input_output_aliases contains the mapping '{i}:{j}', but the input is "
                f"{operands[i].str_short()} and the output {results[j].str_short()}: they can't "
                "share memory"
            )
    return pairs
