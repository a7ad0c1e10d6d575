"""Names that programs written for JAX use for parts of a program: read-only, beside our own.

    program.eqns[0].primitive.name, program.eqns[0].params, program.invars[0].aval

A program is closed, so it is its own `jaxpr`. Where what was staged held arrays, the program's
first inputs stand for them, and `make_jaxpr` gives their values as `consts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from effax.effects.contexts import put
from effax.effects.handler import bottom, current
from effax.effects.provenance import tags_of

if TYPE_CHECKING:
    from effax.effects.effect import Effect
    from effax.effects.program import Equation, Variable
    from effax.effects.types import ShapedArray


class SourceInfo(NamedTuple):
    """The origin of an equation: the user's frame, and the enclosing scopes, by slashes."""

    frame: Any
    name_stack: str

    @property
    def traceback(self) -> Any:
        """The frame, by JAX's name."""
        return self.frame


class EquationContext(NamedTuple):
    """The context of an equation by its name in JAX; `xla_metadata` is None where it has none."""

    xla_metadata: dict[str, Any] | None = None

    @property
    def manager(self) -> AbstractContextManager[Any]:
        """The context in which what is performed has the equation's metadata."""
        return (
            nullcontext() if self.xla_metadata is None else managers["metadata"](self.xla_metadata)
        )


managers: Final[dict[str, Callable[[dict[str, Any]], AbstractContextManager[Any]]]] = {}
"""The context managers of what equations keep, filled by the modules that they keep it by."""


_FILE: Final = re.compile(r"\S+ at (?P<file>.*?)(:(?P<line>\d+))?$")


class DebugInfo(NamedTuple):
    """A description of a function: `func_src_info` is `name` or `name at file:line`.

    >>> DebugInfo("jit", "f at train.py:12", ("x",), ("result",)).func_lineno
    12
    """

    traced_for: str
    func_src_info: str
    arg_names: tuple[str, ...] | None
    result_paths: Any

    def resolve_result_paths(self) -> DebugInfo:
        """The same with its results' paths, where they are given by a function."""
        paths = self.result_paths
        return self._replace(result_paths=tuple(paths())) if callable(paths) else self

    @property
    def func_name(self) -> str:
        """The function's name."""
        return self.func_src_info.split(" ")[0]

    @property
    def func_filename(self) -> str | None:
        """The file that it is in, as far as that is known."""
        found = _FILE.match(self.func_src_info)
        return None if found is None else found["file"]

    @property
    def func_lineno(self) -> int | None:
        """The line that it begins at, as far as that is known."""
        found = _FILE.match(self.func_src_info)
        return None if found is None or found["line"] is None else int(found["line"])


class ProgramNames:
    """A program's names."""

    __slots__ = ()

    inputs: tuple[Variable, ...]
    outputs: tuple[Any, ...]
    equations: Sequence[Equation]
    consts: tuple[Any, ...]
    name: str

    if TYPE_CHECKING:

        def __init__(self, *parts: Any) -> None: ...

        @property
        def row(self) -> frozenset[str]:
            """The row that remains to be answered."""

    @property
    def jaxpr(self) -> Any:
        """The program itself."""
        return self

    @property
    def eqns(self) -> Sequence[Equation]:
        """The equations, in order."""
        return self.equations

    @property
    def literals(self) -> tuple[Any, ...]:
        """The same as `consts`."""
        return self.consts

    @property
    def constvars(self) -> list[Variable]:
        """The inputs that stand for `consts`."""
        return [*self.inputs[: len(self.consts)]]

    @property
    def invars(self) -> list[Variable]:
        """The inputs that stand for arguments."""
        return [*self.inputs[len(self.consts) :]]

    @property
    def outvars(self) -> list[Any]:
        """The results: variables or literals."""
        return [*self.outputs]

    @property
    def debug_info(self) -> DebugInfo:
        """The name of the function that was staged; nothing is known of names of arguments."""
        return DebugInfo("make_jaxpr", self.name, None, None)

    @property
    def in_avals(self) -> list[ShapedArray]:
        """The types of the arguments."""
        return [x.type for x in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        """The types of the results."""
        return [x.type for x in self.outputs]

    @property
    def effects(self) -> frozenset[str]:
        """The effect row."""
        return self.row

    def replace(self, **parts: Any) -> Any:
        """Return the program with other parts, by JAX's names.

        Args:
          **parts: `jaxpr` and `consts`, or `constvars`, `invars`, `outvars` and `eqns`; `effects`
            and `debug_info` follow from the others, and are left out.

        Raises:
          TypeError: for any other name.
        """
        base = parts.pop("jaxpr", self)
        constants, arguments = parts.pop("constvars", base.constvars), base.invars
        inputs = (*constants, *parts.pop("invars", arguments))
        equations = parts.pop("eqns", base.equations)
        outputs = parts.pop("outvars", base.outputs)
        found = type(self)(inputs, list(equations), outputs, self.name)
        found.consts = tuple(parts.pop("consts", self.consts))  # type: ignore[misc]
        _refuse_others("a program", parts, ("effects", "debug_info", "is_high"))
        return found


def _refuse_others(what: str, parts: dict[str, Any], derived: tuple[str, ...]) -> None:
    others = sorted(parts.keys() - {*derived})
    if others:
        raise TypeError(f"replace: {what} has no part {others[0]!r}")


class EquationNames:
    """An equation's names."""

    __slots__ = ()

    effect: Effect
    inputs: Sequence[Any]
    outputs: Sequence[Variable]
    attributes: dict[str, Any]
    frame: Any
    scope: str

    if TYPE_CHECKING:

        def __init__(self, *parts: Any) -> None: ...

        @property
        def row(self) -> frozenset[str]:
            """The row left to be answered after performing it."""

    @property
    def source_info(self) -> SourceInfo:
        """The user's line from which this came."""
        return SourceInfo(self.frame, self.scope)

    @property
    def ctx(self) -> EquationContext:
        """The context in which it was staged: the metadata for XLA."""
        return EquationContext(dict(tags_of(self.scope)) or None)

    @property
    def primitive(self) -> Any:
        """The effect, with JAX's name; `primitive.bind` performs it."""
        from effax.effects.jax_primitives import named

        return named(self.effect)

    @property
    def invars(self) -> list[Any]:
        """The operands: variables or literals."""
        return [*self.inputs]

    @property
    def outvars(self) -> list[Variable]:
        """The variables of the results."""
        return [*self.outputs]

    @property
    def params(self) -> dict[str, Any]:
        """The attributes, by our names and by JAX's."""
        from effax.effects.jax_primitives import params_of

        return params_of(self.effect.name, self.attributes)

    @property
    def effects(self) -> frozenset[str]:
        """The effect row."""
        return self.row

    def replace(self, **parts: Any) -> Any:
        """Return the equation with other parts, by JAX's names.

        Args:
          **parts: `invars`, `outvars`, `primitive`, `params`, `source_info`; `effects` and `ctx`
            follow from the others, and are left out.

        Raises:
          TypeError: for any other name.
        """
        from effax.effects.jax_primitives import attributes_of, unnamed

        effect = unnamed(parts.pop("primitive", self.effect))
        params = parts.pop("params", self.attributes)
        where = parts.pop("source_info", self.source_info)
        inputs = parts.pop("invars", self.inputs)
        outputs = parts.pop("outvars", self.outputs)
        _refuse_others("an equation", parts, ("effects", "ctx"))
        attributes = attributes_of(effect.name, params)
        return type(self)(effect, inputs, attributes, outputs, *where)


class EffectNames:
    """An effect's names."""

    __slots__ = ()

    name: str
    multiple: bool

    call_primitive = map_primitive = False
    """Whether it is a call of JAX's old kind, whose program is a parameter `call_jaxpr`."""

    @property
    def multiple_results(self) -> bool:
        """Whether performing it gives a list."""
        return self.multiple

    def bind(self, *operands: Any, **attributes: Any) -> Any:
        """Perform it: the same as calling it, with attributes by our names or by JAX's.

        Where all operands are Python numbers, they are taken for arrays first. Scalars among arrays
        are broadcast, and programs may have constants, as in JAX.
        """
        return bottom.bind(self, operands, attributes)

    def bind_with_trace(self, trace: Any, args: Any, avals: Any, params: dict[str, Any]) -> Any:
        """Bind it with a handler on top of the stack, by JAX's protocol of traces."""
        token = put(current, trace)
        try:
            return self.bind(*args, **params)
        finally:
            current.reset(token)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `bind` besides the operands.

        They are the attributes. Of a call with a rule for its derivative, `subfuns` stands for the
        program and the rule: functions of values, each with `call_wrapped`.
        """
        from effax.effects.jax_primitives import attributes_of

        parts = _SUBFUNCTIONS.get(self.name)
        if parts is None:
            return dict(params)
        others = attributes_of(self.name, params)
        return {"subfuns": parts(others.pop("program"), others.pop("rule")), **others}


class Subfunction:
    """One of the functions that a call is made of, and the attribute that it stands for."""

    __slots__ = ("attributes", "call_wrapped")

    def __init__(self, call: Callable[..., Any], **attributes: Any) -> None:
        self.call_wrapped = call
        self.attributes = attributes


def _with_jvp(program: Any, rule: Any) -> tuple[Subfunction, ...]:
    def jvp(*values: Any) -> list[Any]:
        count = len(values) // 2
        results, tangents = rule(values[:count], values[count:])
        return [*results, *tangents]

    return Subfunction(program.run, program=program), Subfunction(jvp, rule=rule)


def _with_vjp(program: Any, rule: Any) -> tuple[Subfunction, ...]:
    def forward(*values: Any) -> list[Any]:
        count = rule.captured
        moving = (False,) * count + (True,) * (len(values) - count)
        results, residuals = rule.forward(values, moving)
        return [*residuals, *results]

    return Subfunction(program.run, program=program), Subfunction(forward, rule=rule)


_SUBFUNCTIONS: Final[dict[str, Callable[[Any, Any], tuple[Subfunction, ...]]]] = {
    "custom_jvp_call": _with_jvp,
    "custom_vjp_call": _with_vjp,
}
