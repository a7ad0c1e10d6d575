"""What programs written for JAX call the parts of a program: read-only names beside our own.

    program.eqns[0].primitive.name, program.eqns[0].params, program.invars[0].aval

A program is closed, so it is its own `jaxpr`. Where what was staged held arrays, the program's
first inputs stand for them, and `make_jaxpr` gives their values as `consts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from effax.effects.effect import Effect
    from effax.effects.program import Equation, Variable
    from effax.effects.types import ShapedArray


ATTRIBUTES: Final[dict[str, dict[str, str]]] = {
    "call": {"jaxpr": "program"},
    "remat": {"jaxpr": "program"},
    "custom_jvp_call": {"call_jaxpr": "program"},
    "custom_vjp_call": {"call_jaxpr": "program"},
    "scan": {"jaxpr": "body", "num_consts": "consts", "num_carry": "carry"},
    "while": {
        "cond_jaxpr": "cond",
        "body_jaxpr": "body",
        "cond_nconsts": "cond_consts",
        "body_nconsts": "body_consts",
    },
}
"""What JAX calls the attributes of effects with programs: its name, and ours."""


class SourceInfo(NamedTuple):
    """Where an equation was asked for: the user's frame, and the scopes around, by slashes."""

    frame: Any
    name_stack: str


class ProgramNames:
    """A program's names."""

    __slots__ = ()

    inputs: tuple[Variable, ...]
    outputs: tuple[Any, ...]
    equations: Sequence[Equation]
    consts: tuple[Any, ...]

    if TYPE_CHECKING:

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
    def constvars(self) -> tuple[Variable, ...]:
        """The inputs that stand for `consts`."""
        return self.inputs[: len(self.consts)]

    @property
    def invars(self) -> tuple[Variable, ...]:
        """The inputs that stand for arguments."""
        return self.inputs[len(self.consts) :]

    @property
    def outvars(self) -> tuple[Any, ...]:
        """The results: variables or literals."""
        return self.outputs

    @property
    def in_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the arguments."""
        return tuple(x.type for x in self.invars)

    @property
    def out_avals(self) -> tuple[ShapedArray, ...]:
        """The types of the results."""
        return tuple(x.type for x in self.outputs)

    @property
    def effects(self) -> frozenset[str]:
        """The effect row."""
        return self.row


class EquationNames:
    """An equation's names."""

    __slots__ = ()

    effect: Effect
    inputs: Sequence[Any]
    outputs: Sequence[Variable]
    attributes: dict[str, Any]
    frame: Any
    scope: str

    @property
    def source_info(self) -> SourceInfo:
        """Where the user's code asked for it."""
        return SourceInfo(self.frame, self.scope)

    @property
    def primitive(self) -> Effect:
        """The effect; `primitive.bind` performs it."""
        return self.effect

    @property
    def invars(self) -> Sequence[Any]:
        """The operands: variables or literals."""
        return self.inputs

    @property
    def outvars(self) -> Sequence[Variable]:
        """The variables of the results."""
        return self.outputs

    @property
    def params(self) -> dict[str, Any]:
        """The attributes, by our names and by JAX's."""
        others = ATTRIBUTES.get(self.effect.name)
        if others is None:
            return self.attributes
        return self.attributes | {new: self.attributes[old] for new, old in others.items()}


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
        """Perform it: the same as calling it. JAX's names of attributes are left out."""
        for name in ATTRIBUTES.get(self.name, ()):
            attributes.pop(name, None)
        return self(*operands, **attributes)  # type: ignore[operator]

    def get_bind_params(self, attributes: dict[str, Any]) -> tuple[tuple[()], dict[str, Any]]:
        """What to call `bind` with before the operands, and by name: nothing, the attributes."""
        return (), dict(attributes)
