"""Names that programs written for JAX use for parts of a program: read-only, beside our own.

    program.eqns[0].primitive.name, program.eqns[0].params, program.invars[0].aval

A program is closed, so it is its own `jaxpr`. Where what was staged held arrays, the program's
first inputs stand for them, and `make_jaxpr` gives their values as `consts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from effax.effects.handler import bottom
from effax.effects.provenance import tags_of

if TYPE_CHECKING:
    from effax.effects.effect import Effect
    from effax.effects.program import Equation, Variable
    from effax.effects.types import ShapedArray


_CALLED: Final = {"call_jaxpr": "program"}
ATTRIBUTES: Final[dict[str, dict[str, str]]] = {
    "all_gather": {"axis_name": "axes", "all_gather_dimension": "axis", "axis_size": "size"},
    "all_to_all": {"axis_name": "axes", "split_axis": "split", "concat_axis": "concat"},
    "bitcast_convert_type": {"new_dtype": "dtype"},
    "broadcast_in_dim": {"broadcast_dimensions": "dims"},
    "call": {"jaxpr": "program"},
    "concatenate": {"dimension": "axis"},
    "convert_element_type": {"new_dtype": "dtype"},
    "custom_jvp_call": _CALLED,
    "custom_vjp_call": _CALLED,
    "pad": {"padding_config": "config"},
    "pure_callback": {"result_avals": "result_types"},
    "ppermute": {"axis_name": "axes"},
    "reduce_scatter": {"axis_name": "axes", "scatter_dimension": "axis", "axis_size": "size"},
    "remat": {"jaxpr": "program"},
    "reshape": {"new_sizes": "shape"},
    "rev": {"dimensions": "dims"},
    "scan": {"jaxpr": "body", "num_consts": "consts", "num_carry": "carry"},
    "slice": {"start_indices": "start", "limit_indices": "limit"},
    "while": {
        "cond_jaxpr": "cond",
        "body_jaxpr": "body",
        "cond_nconsts": "cond_consts",
        "body_nconsts": "body_consts",
    },
}
"""JAX's names for the attributes of effects, mapped to effax's."""

_FUNCTIONS: Final = (
    *("cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt"),
    *("tan", "tanh"),
)
CONSTANTS: Final[dict[str, dict[str, Any]]] = {
    **{name: {"accuracy": None} for name in _FUNCTIONS},
    **{name: {"sharding": None} for name in ("broadcast_in_dim", "iota", "pure_callback")},
    **{
        name: {"out_sharding": None}
        for name in ("conv_general_dilated", "dot_general", "reduce_sum", "rng_bit_generator")
    },
    "convert_element_type": {"sharding": None, "weak_type": False},
    **{
        name: {"axis_index_groups": None}
        for name in ("all_gather", "all_to_all", "pmax", "pmin", "psum", "reduce_scatter")
    },
    "qr": {"pivoting": False, "use_magma": None},
    "reshape": {"dimensions": None, "sharding": None},
    "svd": {"algorithm": None, "subset_by_index": None},
}
"""Further parameters of JAX's primitives, of choices that effax does not have: their values."""


PRIMITIVES: Final = {
    "call": "jit",
    "linear_solve": "custom_linear_solve",
    "pivots_to_permutation": "lu_pivots_to_permutation",
    "ref_get": "get",
    "remat": "remat2",
    "with_sharding_constraint": "sharding_constraint",
    **{f"scatter_{how}": f"scatter-{how}" for how in ("add", "max", "min", "mul")},
}
"""JAX's names for the effects that it calls otherwise."""


class Renamed:
    """An effect under JAX's name: it equals the effect, and is one key with it."""

    __slots__ = ("effect", "name")

    def __init__(self, effect: Effect) -> None:
        self.effect = effect
        self.name = PRIMITIVES[effect.name]

    def __eq__(self, other: object) -> bool:
        return self.effect is unnamed(other)

    def __hash__(self) -> int:
        return hash(self.effect)

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, part: str) -> Any:
        return getattr(self.effect, part)

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Perform the effect."""
        return self.effect(*operands, **attributes)

    def __reduce__(self) -> Any:
        return named, (self.effect,)


_renamed: Final[dict[Effect, Renamed]] = {}


def named(effect: Effect) -> Any:
    """Return the effect under JAX's name: itself, where JAX has the same name for it."""
    if effect.name not in PRIMITIVES:
        return effect
    return _renamed.setdefault(effect, Renamed(effect))


def unnamed(primitive: Any) -> Any:
    """Return the effect itself, which JAX's name may be around."""
    return primitive.effect if type(primitive) is Renamed else primitive


def params_of(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return an effect's attributes under effax's and JAX's names, with JAX's further ones."""
    found = {**CONSTANTS.get(name, {}), **attributes}
    for new, old in ATTRIBUTES.get(name, {}).items():
        found[new] = attributes[old]
    if name in ("argmax", "argmin"):
        found["axes"] = (attributes["axis"],)
    return found


def attributes_of(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return an effect's attributes from parameters under effax's names, JAX's, or both."""
    found = dict(params)
    for new, old in ATTRIBUTES.get(name, {}).items():
        if new in found:
            value = found.pop(new)
            found.setdefault(old, value)
    for new, constant in CONSTANTS.get(name, {}).items():
        if new in found and found[new] is constant:
            del found[new]
    if name in ("argmax", "argmin") and "axes" in found:
        (axis,) = found.pop("axes")
        found.setdefault("axis", axis)
    return found


class SourceInfo(NamedTuple):
    """The origin of an equation: the user's frame, and the enclosing scopes, by slashes."""

    frame: Any
    name_stack: str


class EquationContext(NamedTuple):
    """The context of an equation by its name in JAX; `xla_metadata` is None where it has none."""

    xla_metadata: dict[str, Any] | None


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
        return named(self.effect)

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

        Where all operands are Python numbers, they are taken for arrays first.
        """
        for part in attributes.pop("subfuns", ()):
            attributes |= part.attributes
        if operands and all(isinstance(x, (int, float, complex)) for x in operands):
            operands = tuple(map(bottom.array, operands))
        return self(*operands, **attributes_of(self.name, attributes))  # type: ignore[operator]

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `bind` besides the operands.

        They are the attributes. Of a call with a rule for its derivative, `subfuns` stands for the
        program and the rule: functions of values, each with `call_wrapped`.
        """
        parts = _SUBFUNCTIONS.get(self.name)
        if parts is None:
            return dict(params)
        own = ("program", "call_jaxpr", "rule")
        others = {k: v for k, v in params.items() if k not in own}
        return {**others, "subfuns": parts(params["program"], params["rule"])}


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
