"""Functions of TensorFlow, compiled by it to modules that programs of effax call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import numpy as np

from effax.backends.xla import artifact
from effax.backends.xla.lowering.writer import tensor
from effax.effects.errors import ExportError
from effax.effects.rows.foreign import Module
from effax.effects.types import ShapedArray, canonical_dtype
from effax.experimental.jax2tf.tensors import array_dtype, tensor_dtype, tensorflow
from effax.export import default_export_platform

_DEVICES: Final = {"cpu": "CPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
_KNOWN_CALLS: Final = ("mhlo.", "Sharding", "TopK")
"""Beginnings of the custom calls that XLA itself answers; others are of TensorFlow's runtime."""


@attrs.frozen(eq=False)
class Part:
    """A compiled function: its module, and the values that it takes after the arguments."""

    module: Module
    captured: tuple[Any, ...]


class Compiled:
    """The modules of a function of flat tensors, one for each list of argument types."""

    def __init__(self, function: Callable[..., list[Any]], name: str) -> None:
        self._name = name
        self._staged = functools.cache(
            lambda: tensorflow().function(function, autograph=False, jit_compile=True)
        )
        self._parts: dict[Any, Part | None] = {}

    def result_types(self, types: Sequence[ShapedArray]) -> list[ShapedArray]:
        """Return the types of the results that TensorFlow infers for arguments of these types.

        Raises:
          ValueError: where it does not know a shape.
        """
        found = self._concrete(types)
        for shape in found.output_shapes:
            if not shape.is_fully_defined():
                raise ValueError(
                    f"call_tf: the shape {shape} of a result of {self._name} is not known before "
                    "it is called, so that it can't be staged; give call_tf the shapes and dtypes "
                    "of the results (output_shape_dtype=)"
                )
        return [
            ShapedArray(tuple(shape.as_list()), array_dtype(dtype))
            for shape, dtype in zip(found.output_shapes, found.output_dtypes, strict=True)
        ]

    def module(self, types: Sequence[ShapedArray]) -> Part | None:
        """Return the function compiled for arguments of these types; None where XLA can't.

        Each staging reads the variables anew.
        """
        key = tuple(types)
        if key not in self._parts:
            self._parts[key] = self._compile(types)
        part = self._parts[key]
        return None if part is None else attrs.evolve(part, captured=self._captured(types))

    def _specs(self, types: Sequence[ShapedArray]) -> list[Any]:
        tf = tensorflow()
        return [tf.TensorSpec(t.shape, tensor_dtype(t.dtype)) for t in types]

    def _concrete(self, types: Sequence[ShapedArray]) -> Any:
        return self._staged().get_concrete_function(*self._specs(types))

    def _captured(self, types: Sequence[ShapedArray]) -> tuple[Any, ...]:
        tf = tensorflow()
        concrete = self._concrete(types)
        variables = {id(v.handle): v for v in concrete.variables}
        with tf.init_scope():
            return tuple(np.asarray(variables.get(id(x), x)) for x in concrete.captured_inputs)

    def _compile(self, types: Sequence[ShapedArray]) -> Part | None:
        concrete = self._concrete(types)
        if not all(shape.is_fully_defined() for shape in concrete.output_shapes):
            return None
        captured = self._captured(types)
        if any(canonical_dtype(x.dtype) != x.dtype for x in captured):
            return None
        ins = [*[t.strong() for t in types], *[ShapedArray(x.shape, x.dtype) for x in captured]]
        outs = self.result_types(types)
        text = self._text(types)
        if text is None or not _fits(text, ins, outs):
            return None
        try:
            module = artifact.to_artifact(text)
        except ExportError:
            return None
        platforms = (default_export_platform(),)
        return Part(Module(self._name, module, tuple(ins), tuple(outs), platforms), captured)

    def _text(self, types: Sequence[ShapedArray]) -> str | None:
        """Return the function as StableHLO; None where TensorFlow or the dialect has no such form.

        TensorFlow raises a `ValueError` for operations that XLA can't compile.
        """
        make = self._staged().experimental_get_compiler_ir(*self._specs(types))
        try:
            hlo = make(stage="hlo_serialized", platform_name=_DEVICES[default_export_platform()])
        except ValueError:
            return None
        return artifact.of_hlo(hlo)


def _fits(text: str, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> bool:
    """Whether a module has these types and needs nothing of TensorFlow's runtime.

    A function that writes variables has a result for each.
    """
    wanted = [tensor(t) for t in ins], [tensor(t) for t in outs]
    calls = artifact.custom_calls(text)
    return artifact.signature(text) == wanted and all(x.startswith(_KNOWN_CALLS) for x in calls)


def without_operations(results: Any) -> Any:
    """Return a function's results, where a graph may have an operation in place of None."""
    return [] if isinstance(results, tensorflow().Operation) else results
