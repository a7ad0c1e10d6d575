"""Primitives, for programs written for JAX: an effect whose rules are given one by one.

    multiply_add = Primitive("multiply_add")
    multiply_add.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    multiply_add.def_abstract_eval(lambda x, y, z: core.ShapedArray(x.shape, x.dtype))
    ad.primitive_jvps[multiply_add] = ...          # effax.interpreters.ad
    batching.primitive_batchers[multiply_add] = ...
    mlir.register_lowering(multiply_add, ...)

A rule of effax's own (`extend.jvp.rule`, `extend.expand`) fills the same cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from effax.api.compiling.jit import jit
from effax.backends.xla.array import asarray
from effax.backends.xla.dispatch import host_rules
from effax.effects.effect import LITERALS, Effect, named_effect
from effax.effects.jax_primitives import Renamed, Unperformed
from effax.effects.types import ShapedArray
from effax.extend import foreign_rules

_PLAIN = (*LITERALS, list, tuple)


class _Primitives(type):
    """The metaclass of `Primitive`, of which all effects are instances, under JAX's names too."""

    def __instancecheck__(cls, value: object) -> bool:
        if "_title" in cls.__dict__:  # `Primitive` itself
            return isinstance(value, (Effect, Renamed, Unperformed))
        return type.__instancecheck__(cls, value)


class Primitive(Effect, metaclass=_Primitives):
    """An operation with a name; its other properties are defined by methods.

    Its impl computes eager calls, on arrays; its abstract evaluation gives the types of results.
    Transforms take the rules in `effax.interpreters.ad` and `batching`, compilation those in
    `mlir`. What is not given raises NotImplementedError where it is asked.

    >>> import effax
    >>> from effax.interpreters import ad, mlir
    >>> triple = Primitive("doctest_triple")
    >>> impl = triple.def_impl(lambda x: 3 * x)
    >>> rule = triple.def_abstract_eval(lambda x: x)
    >>> mlir.register_lowering(triple, mlir.lower_fun(impl, multiple_results=False))
    >>> ad.deflinear2(triple, lambda ct, x: [triple.bind(ct)])
    >>> float(effax.jit(effax.grad(triple.bind))(2.0))
    3.0
    """

    __slots__ = ("_abstract", "_impl", "_title")

    def __init__(self, name: str) -> None:
        free, number = name, 1
        while named_effect(free) is not None:
            free, number = f"{name}.{number}", number + 1
        super().__init__(free, family="primitive", typing=self._types)
        self._title = name
        self._impl: Callable[..., Any] | None = None
        self._abstract: Callable[..., Any] | None = None
        host_rules[self] = self._evaluate
        foreign_rules.lower_by_table(self)

    def __repr__(self) -> str:
        return self._title

    @property
    def multiple_results(self) -> bool:
        """Whether it has a list of results; to be set before it is used."""
        return self.multiple

    @multiple_results.setter
    def multiple_results(self, several: bool) -> None:
        self.multiple = several

    def bind(self, *operands: Any, **attributes: Any) -> Any:
        """Perform it. Numbers and host arrays are entered as arrays; attributes are hashable."""
        return self(*[asarray(x) if isinstance(x, _PLAIN) else x for x in operands], **attributes)

    def def_impl(self, impl: Callable[..., Any]) -> Callable[..., Any]:
        """Give what an eager call computes, from arrays and the attributes."""
        self._impl = impl
        return impl

    def def_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give how the types of results (anything with shape and dtype) follow from operands'."""
        self._abstract = rule
        return rule

    def def_effectful_abstract_eval(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """The same, for a rule that returns the types and the effects, which are not looked at."""
        self._abstract = lambda *types, **attributes: rule(*types, **attributes)[0]
        return rule

    def impl(self, *operands: Any, **attributes: Any) -> Any:
        """Compute an eager call; a subclass may define it in place of `def_impl`."""
        if self._impl is None:
            raise NotImplementedError(
                f"Evaluation rule for '{self}' not implemented: it was called on arrays. Define "
                f"its computation: {self}.def_impl(function)"
            )
        return self._impl(*operands, **attributes)

    def abstract_eval(self, *types: Any, **attributes: Any) -> tuple[Any, Any]:
        """Return the types of the results, and no effects; a subclass may define it."""
        if self._abstract is None:
            raise NotImplementedError(
                f"Abstract evaluation for '{self}' not implemented: it is needed where a function "
                f"is traced. Define the types of its results: {self}.def_abstract_eval(rule)"
            )
        return self._abstract(*types, **attributes), frozenset()

    def _types(self, *types: Any, **attributes: Any) -> Any:
        found, _ = self.abstract_eval(*types, **attributes)
        return tuple(map(_as_type, found)) if self.multiple else _as_type(found)

    def _evaluate(self, *operands: Any, **attributes: Any) -> Any:
        result = self.impl(*operands, **attributes)
        return [asarray(x) for x in result] if self.multiple else asarray(result)


def _as_type(x: Any) -> ShapedArray:
    if isinstance(x, ShapedArray):
        return x
    return ShapedArray(x.shape, x.dtype, getattr(x, "weak_type", False))


def apply_primitive(prim: Effect, *operands: Any, **attributes: Any) -> Any:
    """Compile a primitive by its lowering rule, and call it on arrays.

    Args:
      prim: the primitive, whose impl this may be: `prim.def_impl(partial(apply_primitive, prim))`.
      *operands: array_like.
      **attributes: the other parameters of its `bind`.

    >>> from effax import lax
    >>> apply_primitive(lax.add_p, 1.0, 2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return jit(lambda *xs: prim.bind(*xs, **attributes))(*operands)
