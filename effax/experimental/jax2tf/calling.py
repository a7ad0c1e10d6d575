"""`call_tf`: functions of TensorFlow's tensors as functions of arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from effax.api.callbacks import io_callback, pure_callback
from effax.api.calling.scopes import ensure_compile_time_eval
from effax.api.compiling.struct import ShapeDtypeStruct
from effax.api.custom.vjp import custom_vjp
from effax.backends.xla.array import asarray
from effax.effects.frames import filtered
from effax.effects.handler import Carrier, stack
from effax.effects.rows.foreign import exported_call
from effax.effects.tree import PyTreeDef, tree_flatten, tree_unflatten
from effax.effects.types import ShapedArray, float0, tangent_type, typeof
from effax.experimental.jax2tf import compiled
from effax.experimental.jax2tf.tensors import array_dtype, as_tensor, conjugate, tensorflow
from effax.export.exported import without_float0
from effax.interpreters.stage import Stage


class UnspecifiedOutputShapeDtype:
    """The default of `output_shape_dtype`: TensorFlow infers the types of the results."""

    def __repr__(self) -> str:
        return "UnspecifiedOutputShapeDtype()"


_UNSPECIFIED = UnspecifiedOutputShapeDtype()


def call_tf(
    callable_tf: Callable[..., Any],
    has_side_effects: bool = True,
    ordered: bool = False,
    output_shape_dtype: Any = _UNSPECIFIED,
    call_tf_graph: bool = False,
) -> Callable[..., Any]:
    """Return a function of arrays that computes what a function of TensorFlow does.

    Outside of `jit`, TensorFlow calls the function eagerly. For a staged program, TensorFlow
    compiles it to a module of XLA, which becomes a part of the program. A function that XLA can't
    compile (it prints, calls Python, writes variables) is called back, while the program runs.

    Args:
      callable_tf: a function of trees of tensors that returns a tree of tensors.
      has_side_effects: whether a call that is called back must not be dropped or repeated.
      ordered: whether calls in a staged program happen in the order of its text. Such a function is
        called back.
      output_shape_dtype: a tree of the results' shapes and dtypes. It is needed in staged programs
        where TensorFlow does not know the shapes.
      call_tf_graph: must be False.

    Returns:
      A function of trees of arrays. `tf.GradientTape` gives its derivatives of reverse mode. A
      staged program has the values that variables had when it was staged.

    Raises:
      NotImplementedError: for `call_tf_graph=True`.

    The function that is returned raises `ImportError` where TensorFlow is not installed, and
    `ValueError` for results of other types than announced, or of unknown shapes under `jit`.
    """
    if call_tf_graph:
        raise NotImplementedError(
            "call_tf: call_tf_graph=True asks for a call of a TensorFlow graph inside of an "
            "exported module, which effax does not write; leave it out, so that the function is "
            "compiled into the module"
        )
    announced = None if output_shape_dtype is _UNSPECIFIED else tree_flatten(output_shape_dtype)
    made: dict[PyTreeDef, _Flat] = {}

    def flat(tree: PyTreeDef) -> _Flat:
        if tree not in made:
            made[tree] = _Flat(callable_tf, tree, announced, has_side_effects, ordered)
        return made[tree]

    @functools.wraps(callable_tf)
    @filtered
    def called(*args: Any) -> Any:
        tensorflow()
        leaves, tree = tree_flatten(args)
        return flat(tree)(*leaves)

    return called


class _Flat:
    """A function of TensorFlow, for one tree of arguments, as a function of flat arrays."""

    def __init__(
        self,
        function: Callable[..., Any],
        tree: PyTreeDef,
        announced: tuple[list[Any], PyTreeDef] | None,
        has_side_effects: bool,
        ordered: bool,
    ) -> None:
        self.function = function
        self.tree = tree
        self.announced = announced
        self.has_side_effects = has_side_effects
        self.ordered = ordered
        self.out_tree: PyTreeDef | None = None
        self.name = getattr(function, "__name__", "call_tf")
        self._compiled = compiled.Compiled(self.of_tensors, self.name)

        def call(*leaves: Any) -> Any:
            return self.of_arrays(*leaves)

        call.__name__ = self.name
        self._call = custom_vjp(call)
        self._call.defvjp(self._forward, self._backward)

    def __call__(self, *leaves: Any) -> Any:
        """Call the function on arrays, and return the tree of its results."""
        return self._call(*[without_float0(x) for x in leaves])

    def of_tensors(self, *tensors: Any) -> list[Any]:
        """Call the function on flat tensors. Results of 64 bits are cast, as arrays would be."""
        with ensure_compile_time_eval():
            found = self.function(*tree_unflatten(self.tree, tensors))
        leaves, self.out_tree = tree_flatten(compiled.without_operations(found))
        self._check(leaves)
        return [as_tensor(x, array_dtype(tensorflow().convert_to_tensor(x).dtype)) for x in leaves]

    def of_arrays(self, *leaves: Any) -> Any:
        """Call the function on flat arrays: at once, or as a part of the program being staged."""
        types = [typeof(x) for x in leaves]
        if not _is_staged(leaves):
            tensors = [as_tensor(x, t.dtype) for x, t in zip(leaves, types, strict=True)]
            results = [asarray(np.asarray(x)) for x in self.of_tensors(*tensors)]
        else:
            results = self._staged(leaves, types)
        if self.out_tree is None:
            raise AssertionError(f"call_tf: {self.name} was not called while it was staged")
        return tree_unflatten(self.out_tree, results)

    def _staged(self, leaves: Sequence[Any], types: Sequence[ShapedArray]) -> list[Any]:
        module = None if self.ordered else self._compiled.module(types)
        if module is not None:
            return list(exported_call(*leaves, *module.captured, module=module.module))
        results = (
            self._compiled.result_types(types) if self.announced is None else self.announced[0]
        )
        structs = [ShapeDtypeStruct(t.shape, t.dtype) for t in results]
        if self.announced is not None:
            self.out_tree = self.announced[1]
        if self.has_side_effects or self.ordered:
            return list(io_callback(self._called_back, structs, *leaves, ordered=self.ordered))
        return list(pure_callback(self._called_back, structs, *leaves, vmap_method="sequential"))

    def _called_back(self, *arrays: Any) -> list[Any]:
        tensors = [as_tensor(x, x.dtype) for x in arrays]
        return [np.asarray(x) for x in self.of_tensors(*tensors)]

    def _check(self, results: Sequence[Any]) -> None:
        """Compare the results with the types that the caller announced."""
        if self.announced is None:
            return
        announced, tree = self.announced
        if tree != self.out_tree:
            raise ValueError(
                f"call_tf: {self.name} returned a tree of the structure {self.out_tree}, but "
                f"output_shape_dtype has the structure {tree}"
            )
        for i, (x, t) in enumerate(zip(results, announced, strict=True)):
            found = tensorflow().convert_to_tensor(x)
            if not found.shape.is_compatible_with(t.shape) or array_dtype(found.dtype) != t.dtype:
                raise ValueError(
                    f"call_tf: the result {i} of {self.name} has the shape {found.shape} and the "
                    f"dtype {found.dtype.name}, but output_shape_dtype says {t.shape} and {t.dtype}"
                )

    def _forward(self, *leaves: Any) -> tuple[Any, tuple[Any, ...]]:
        return self._call(*leaves), leaves

    def _backward(self, leaves: tuple[Any, ...], cotangents: Any) -> tuple[Any, ...]:
        types = [typeof(x) for x in leaves]
        movable = [i for i, t in enumerate(types) if tangent_type(t).dtype != float0]
        given = tree_flatten(cotangents)[0]
        outs = [i for i, x in enumerate(given) if getattr(x, "dtype", None) != float0]

        def gradient(tensors: list[Any], cotangents: list[Any]) -> list[Any]:
            return self._gradient(tensors, cotangents, movable, outs)

        found = call_tf(gradient, has_side_effects=self.has_side_effects, ordered=self.ordered)(
            list(leaves), [given[i] for i in outs]
        )
        by_place = dict(zip(movable, found, strict=True))
        return tuple(
            by_place[i] if i in by_place else np.zeros(t.shape, float0) for i, t in enumerate(types)
        )

    def _gradient(
        self,
        tensors: Sequence[Any],
        cotangents: Sequence[Any],
        movable: Sequence[int],
        outs: Sequence[int],
    ) -> list[Any]:
        """Return the tape's gradients; TensorFlow's of complex numbers are conjugate to effax's."""
        tf = tensorflow()
        watched = [tensors[i] for i in movable]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            results = self.of_tensors(*tensors)
            targets = [results[i] for i in outs]
        found = tape.gradient(
            targets,
            watched,
            output_gradients=[conjugate(c) for c in cotangents],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        return [conjugate(tf.convert_to_tensor(x)) for x in found]


def _is_staged(leaves: Sequence[Any]) -> bool:
    """Whether a call is a part of a program: it can't be made now, or must be made later."""
    return any(isinstance(x, Carrier) for x in leaves) or any(
        isinstance(handler, Stage) for handler in stack()
    )
