"""The names of JAX's primitives and of their parameters, for effects and their attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from effax.effects.effect import Effect

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
    "dynamic_slice": {"slice_sizes": "sizes"},
    "eig": {
        "compute_left_eigenvectors": "compute_left",
        "compute_right_eigenvectors": "compute_right",
    },
    "io_callback": {"result_avals": "result_types"},
    "pad": {"padding_config": "config"},
    "pure_callback": {"result_avals": "result_types"},
    "ppermute": {"axis_name": "axes"},
    "reduce_scatter": {"axis_name": "axes", "scatter_dimension": "axis", "axis_size": "size"},
    "reduce": {"jaxpr": "body", "dimensions": "axes"},
    "reduce_window": {"jaxpr": "body"},
    "remat": {"jaxpr": "program"},
    "reshape": {"new_sizes": "shape"},
    "rev": {"dimensions": "dims"},
    "scan": {"jaxpr": "body", "num_consts": "consts", "num_carry": "carry"},
    "schur": {"compute_schur_vectors": "compute_vectors"},
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
    **{
        name: {"sharding": None}
        for name in ("broadcast_in_dim", "io_callback", "iota", "pure_callback")
    },
    **{
        name: {"out_sharding": None}
        for name in ("conv_general_dilated", "dot_general", "reduce_sum", "rng_bit_generator")
    },
    "call": {"inline": False},
    "convert_element_type": {"sharding": None, "weak_type": False},
    **{
        name: {"axis_index_groups": None}
        for name in ("all_gather", "all_to_all", "pmax", "pmin", "psum", "reduce_scatter")
    },
    "eig": {"enable_eigvec_derivs": False, "implementation": None},
    "eigh": {"algorithm": None, "sort_eigenvalues": True, "subset_by_index": None},
    "qr": {"pivoting": False, "use_magma": None},
    "reduce_window": {"consts": ()},
    "reshape": {"dimensions": None, "sharding": None},
    "schur": {"select_callable": None, "sort_eig_vals": False},
    "svd": {"algorithm": None, "subset_by_index": None},
}
"""Further parameters of JAX's primitives, of choices that effax does not have: their values."""

_SINGLE: Final = {"argmax": ("axis",), "argmin": ("axis",)}
"""Attributes that are one axis, where JAX has `axes`, a tuple of one."""


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
    return primitive.effect if isinstance(primitive, (Renamed, Also)) else primitive


class Unperformed:
    """A primitive of JAX's that no program has: a key for tables of rules, which nothing asks."""

    __slots__ = ("name",)

    multiple_results = False

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def bind(self, *operands: Any, **attributes: Any) -> Any:
        """Raise NotImplementedError: there is nothing to perform."""
        raise NotImplementedError(
            f"no effect does what JAX's primitive {self.name} does: programs of effax have others "
            f"in its place, as effax.make_jaxpr shows. Call the public function of that name"
        )


class Also(Unperformed):
    """A primitive of JAX's that is performed as an effect which programs have under another name.

    It is a key of its own, so that a table with rules for both keeps both.
    """

    __slots__ = ("effect",)

    def __init__(self, name: str, effect: Effect) -> None:
        super().__init__(name)
        self.effect = effect

    @property
    def multiple_results(self) -> bool:  # type: ignore[override]
        """Whether performing it gives a list."""
        return self.effect.multiple

    def bind(self, *operands: Any, **attributes: Any) -> Any:
        """Perform the effect."""
        return self.effect.bind(*operands, **attributes)


class WrittenOut(Unperformed):
    """A primitive of JAX's for which programs have several effects; bound, it performs them."""

    __slots__ = ("function", "multiple_results")

    def __init__(self, name: str, function: Callable[..., Any], several: bool) -> None:
        super().__init__(name)
        self.function = function
        self.multiple_results = several

    def bind(self, *operands: Any, **attributes: Any) -> Any:
        """Call the function that performs them."""
        return self.function(*operands, **attributes)


@cache
def also(name: str, effect: Effect) -> Also:
    """Return JAX's further primitive of a name, for an effect."""
    return Also(name, effect)


class Params(dict[str, Any]):
    """Attributes under JAX's names, which answer to effax's too.

    Only JAX's names are keys: of `{**params, "jaxpr": changed}` nothing contradicts the change.

    >>> params = Params({"jaxpr": 1}, {"body": "jaxpr"})
    >>> params["body"], "body" in params, [*params]
    (1, True, ['jaxpr'])
    """

    __slots__ = ("renamed",)

    def __init__(self, known: dict[str, Any], renamed: dict[str, str]) -> None:
        super().__init__(known)
        self.renamed = renamed

    def __missing__(self, name: str) -> Any:
        return self[self.renamed[name]]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self.renamed

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a name, JAX's or effax's, else the default."""
        return dict.get(self, self.renamed.get(name, name), default)


def params_of(name: str, attributes: dict[str, Any]) -> Params:
    """Return an effect's attributes under JAX's names, with its further ones."""
    renamed = {old: new for new, old in ATTRIBUTES.get(name, {}).items()}
    single = _SINGLE.get(name, ())
    found: dict[str, Any] = {}
    for old, value in attributes.items():
        if old in single:
            found["axes"] = (value,)
        else:
            found[renamed.get(old, old)] = value
    return Params({**found, **{k: v for k, v in _constants(name) if k not in found}}, renamed)


def attributes_of(name: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return an effect's attributes from parameters under JAX's names, effax's, or both.

    Effax's count where both are there: `Params` have them only if somebody put them in.
    """
    renamed, single = ATTRIBUTES.get(name, {}), _SINGLE.get(name, ())
    constants = dict(_constants(name))
    given = dict(params)  # `Params` answer to more names
    found: dict[str, Any] = {}
    for new, value in given.items():
        if new in constants and value is constants[new]:
            continue
        if new == "axes" and single:
            (old,), (value,) = single, value
        else:
            old = renamed.get(new, new)
        if old == new or old not in given:
            found[old] = value
    return found


def _constants(name: str) -> Iterable[tuple[str, Any]]:
    return CONSTANTS.get(name, {}).items()
