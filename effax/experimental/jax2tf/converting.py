"""`convert`: functions of arrays as functions of TensorFlow's tensors."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from effax.api.calling.scopes import AtOnce
from effax.api.compiling.jit import jit
from effax.api.compiling.jitted import Jit
from effax.backends.xla import artifact
from effax.effects.config import trace_key
from effax.effects.frames import filtered
from effax.effects.handler import bottom, innermost
from effax.effects.interning import keep
from effax.effects.tree import tree_flatten, tree_map, tree_unflatten
from effax.effects.types import float0
from effax.effects.value import is_symbolic_length
from effax.experimental.jax2tf.shapes import specified
from effax.experimental.jax2tf.tensors import (
    as_tensor,
    conjugate,
    struct_of,
    tensor_dtype,
    tensorflow,
)
from effax.export import DisabledSafetyCheck, Exported, export

_PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")
_KEPT: Final = 64
"""The number of exports that a converted function keeps, one for each tree of argument types."""


class _Default:
    """The value of a deprecated parameter that the caller leaves out."""

    def __repr__(self) -> str:
        return "DEFAULT_NATIVE_SERIALIZATION"


DEFAULT_NATIVE_SERIALIZATION: Final = _Default()


def convert(
    fun_jax: Callable[..., Any],
    *,
    polymorphic_shapes: Any = None,
    polymorphic_constraints: Sequence[str] = (),
    with_gradient: bool = True,
    enable_xla: Any = DEFAULT_NATIVE_SERIALIZATION,
    native_serialization: Any = DEFAULT_NATIVE_SERIALIZATION,
    native_serialization_platforms: Sequence[str] | None = None,
    native_serialization_disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Any]:
    """Return a function of TensorFlow's tensors that computes what `fun_jax` does.

    The function is exported (`effax.export`) for the types of its arguments, and TensorFlow calls
    the module by its operation `XlaCallModule`. So it works in eager calls, in `tf.function`, in a
    SavedModel, and in TFLite with `SELECT_TF_OPS`.

    Args:
      fun_jax: a function of trees of arrays that returns a tree of arrays; jitted or not. Arrays
        that it closes over become constants of the module.
      polymorphic_shapes: names for lengths that differ from call to call. A text such as
        `"b, _"` holds for all positional arguments. A sequence has a text, None, or a tree of these
        for each. `_` and `...` stand for known lengths.
      polymorphic_constraints: comparisons of these lengths, such as `"b >= 2"`.
      with_gradient: whether `tf.GradientTape` can differentiate the results.
      enable_xla: deprecated, and ignored.
      native_serialization: deprecated, and ignored: modules are always native.
      native_serialization_platforms: the platforms to lower for, by default that of effax.
      native_serialization_disabled_checks: checks that the export leaves out.

    Returns:
      A function of trees of tensors, variables, arrays and numbers. It returns a tree of tensors.
      Without `enable_x64`, operands of 64 bits are cast to 32.

    Raises:
      TypeError: for a `fun_jax` that can't be called.
      ValueError: for platforms that do not exist.

    The function that is returned raises `ImportError` where TensorFlow is not installed,
    `ValueError` inside of an effax transformation, and what `effax.export` raises.
    """
    if not callable(fun_jax):
        raise TypeError(f"jax2tf.convert: expected a callable, got {fun_jax!r}")
    _warn_deprecated(enable_xla=enable_xla, native_serialization=native_serialization)
    platforms = _checked(native_serialization_platforms)
    jitted = fun_jax if isinstance(fun_jax, Jit) else jit(fun_jax)
    exporting = export(
        jitted, platforms=platforms, disabled_checks=native_serialization_disabled_checks
    )
    kept: dict[Any, Exported] = {}

    def exported_for(args: Any, kwargs: Any) -> Exported:
        leaves, tree = tree_flatten((args, kwargs))
        key = (tree, tuple(leaves), trace_key())
        if key not in kept:
            specs = specified(args, polymorphic_shapes, polymorphic_constraints)
            return keep(kept, key, exporting(*specs, **specified(kwargs, None)), _KEPT)
        return kept[key]

    @functools.wraps(fun_jax)
    @filtered
    def converted(*args: Any, **kwargs: Any) -> Any:
        tf = tensorflow()
        if innermost() is not bottom and not isinstance(innermost(), AtOnce):
            raise ValueError(
                "convert must be used outside all transformations of effax: a converted function "
                "takes tensors, but was called while another function is transformed or staged"
            )
        exported = exported_for(*tree_map(struct_of, (args, kwargs)))
        leaves = tree_flatten((args, kwargs))[0]
        operands = [
            as_tensor(x, t.dtype, f"jax2tf_arg_{i}")
            for i, (x, t) in enumerate(zip(leaves, exported.in_avals, strict=True))
        ]
        if with_gradient:
            results = _with_gradient(exported, operands)
        else:
            message = (
                f"{exported.fun_name} was converted without gradients; convert it with "
                "with_gradient=True"
            )
            results = [
                tf.raw_ops.PreventGradient(input=x, message=message)
                for x in _called(exported, operands)
            ]
        named = [tf.identity(x, name="jax2tf_out") for x in results]
        return tree_unflatten(exported.out_tree, named)

    return converted


def _warn_deprecated(**given: Any) -> None:
    for name, value in given.items():
        if value is not DEFAULT_NATIVE_SERIALIZATION:
            warnings.warn(
                f"jax2tf.convert: the parameter `{name}` is deprecated and has no effect; leave it "
                "out",
                DeprecationWarning,
                stacklevel=3,
            )


def _checked(platforms: Any) -> tuple[str, ...] | None:
    if not platforms:
        return None
    if not isinstance(platforms, list | tuple) or any(p not in _PLATFORMS for p in platforms):
        raise ValueError(
            "jax2tf.convert: native_serialization_platforms must be a sequence containing a subset "
            f"of {set(_PLATFORMS)}, got {platforms!r}"
        )
    return tuple(platforms)


def _with_gradient(exported: Exported, operands: Sequence[Any]) -> list[Any]:
    """Call an exported function; its gradient calls its derivative, as often as is asked for."""
    tf = tensorflow()

    def run(*operands: Any) -> tuple[list[Any], Callable[..., Any]]:
        results = _called(exported, operands)

        def gradient(*cotangents: Any) -> list[Any]:
            derivative = _derivative(exported)
            wanted = derivative.in_avals[len(operands) :]
            given = [
                _cotangent(c, x, t.dtype)
                for c, x, t in zip(cotangents, results, wanted, strict=True)
            ]
            found = _with_gradient(derivative, [*operands, *given])
            return [
                None if t.dtype == float0 else conjugate(x)
                for x, t in zip(found, derivative.out_avals, strict=True)
            ]

        return results, gradient

    return list(tf.nest.flatten(tf.custom_gradient(run)(*operands)))


def _cotangent(given: Any, result: Any, dtype: Any) -> Any:
    """Return the cotangent of a result; TensorFlow has none, or another, for an integer result."""
    tf = tensorflow()
    if given is None or dtype == float0:
        return tf.zeros_like(result, tensor_dtype(dtype))
    return conjugate(tf.convert_to_tensor(given))


@functools.lru_cache(maxsize=_KEPT)
def _derivative(exported: Exported) -> Exported:
    return exported.vjp()


@functools.lru_cache(maxsize=_KEPT)
def _module(exported: Exported) -> bytes:
    """Return the module of an exported function in a form that TensorFlow reads.

    TensorFlow's StableHLO is older than that of a jaxlib of the same month.
    """
    module = exported.mlir_module_serialized
    lapack = (
        sorted(x for x in artifact.custom_calls(artifact.to_text(module)) if "lapack_" in x)
        if b"lapack_" in module
        else []
    )
    if lapack and exported.platforms == ("cpu",):
        raise NotImplementedError(
            f"jax2tf.convert: {exported.fun_name} calls {', '.join(lapack)}, which jaxlib has on a "
            'CPU and TensorFlow has not; with native_serialization_platforms=["tpu"] and '
            "native_serialization_disabled_checks=[DisabledSafetyCheck.platform()], XLA itself "
            "computes cholesky, qr, eigh and svd on every platform"
        )
    return artifact.for_older_readers(module)


def _called(exported: Exported, operands: Sequence[Any]) -> list[Any]:
    """Call an exported function by the operation XlaCallModule."""
    tensorflow()
    from tensorflow.compiler.tf2xla.python import xla

    latest = xla.call_module_maximum_supported_version()
    if exported.calling_convention_version > latest:
        raise NotImplementedError(
            f"jax2tf.convert: TensorFlow's XlaCallModule reads modules up to version {latest}, but "
            f"effax writes version {exported.calling_convention_version}; install a newer "
            "TensorFlow"
        )
    if exported.nr_devices > 1:
        raise NotImplementedError(
            f"jax2tf.convert: {exported.fun_name} runs on {exported.nr_devices} devices, but "
            "functions are converted for one device; convert it without shardings"
        )
    found = xla.call_module(
        [operands[i] for i in exported.module_kept_var_idx],
        version=exported.calling_convention_version,
        module=_module(exported),
        Tout=[tensor_dtype(t.dtype) for t in exported.out_avals],
        Sout=[[None if is_symbolic_length(n) else n for n in t.shape] for t in exported.out_avals],
        platforms=[platform.upper() for platform in exported.platforms],
        disabled_checks=[str(check) for check in exported.disabled_safety_checks],
    )
    return list(found)
