"""Einstein's summation convention: a contraction named by letters, done in a good order."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from effax.api.placing.output_sharding import placed
from effax.eager.whole import whole
from effax.effects.promotion import lattice_result
from effax.effects.types import typeof
from effax.effects.value import Array, DTypeLike, OutSharding, PrecisionLike, is_symbolic_length
from effax.lax.contraction import canonical_precision, preferred
from effax.numpy.pairwise import contract, diagonals, ordered, summed
from effax.operands.arguments import cast, refuse_out
from effax.operands.promoting import asarray, promote_dtypes

_DEFAULT_PATH: Final = "auto"
_SYMBOLIC: Final = 8
"""The number that an order of products is chosen for where a length is symbolic."""


class _Shaped:
    """A shape, as opt_einsum asks for one."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    @property
    def ndim(self) -> int:
        return len(self.shape)


@lru_cache(maxsize=1024)
def _planned(
    subscripts: str, shapes: tuple[tuple[int, ...], ...], optimize: Any
) -> tuple[tuple[str, ...], str, tuple[tuple[int, ...], ...]]:
    """The names of each operand's axes, those of the result, and which operands to join when.

    Ellipses are letters here. Raises `ValueError` for subscripts that don't fit the shapes.
    """
    from opt_einsum import contract_path
    from opt_einsum.parser import parse_einsum_input

    ins, out, _ = parse_einsum_input((subscripts, *map(_Shaped, shapes)))
    terms = tuple(ins.split(","))
    if len(shapes) <= 2:
        path: Sequence[Any] = [tuple(range(len(shapes)))]
    else:
        known = [tuple(_SYMBOLIC if is_symbolic_length(n) else n for n in s) for s in shapes]
        path = contract_path(f"{ins}->{out}", *known, shapes=True, optimize=optimize)[0]
    _check(terms, shapes)
    return terms, out, tuple(tuple(sorted(step, reverse=True)) for step in path)


def _check(terms: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise `ValueError` where one letter stands for different lengths."""
    lengths: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        if len(term) != len(shape):
            raise ValueError(
                f"einsum: the subscript {term!r} names {len(term)} axes, but its operand has shape "
                f"{shape}"
            )
        for letter, n in zip(term, shape, strict=True):
            known = lengths.setdefault(letter, n)
            if known == 1:
                lengths[letter] = n
            elif n not in (1, known):
                raise ValueError(
                    f"einsum: {letter!r} stands for lengths {known} and {n} in operands of shapes "
                    f"{', '.join(map(str, shapes))}"
                )


def _text(subscripts: Any, operands: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts as one string, and the operands; the interleaved form is translated."""
    if isinstance(subscripts, str):
        return subscripts, tuple(operands)
    from opt_einsum.parser import get_symbol

    parts = [subscripts, *operands]
    out = parts.pop() if len(parts) % 2 else None
    arrays, lists = parts[::2], parts[1::2]
    letters: dict[Any, str] = {}

    def spelled(axes: Sequence[Any]) -> str:
        text = ""
        for a in axes:
            if a is Ellipsis:
                text += "..."
            else:
                text += letters.setdefault(a, get_symbol(len(letters)))
        return text

    # Assign letters in the order of labels, since an implicit result has its axes in that order.
    labels = list(dict.fromkeys(a for axes in lists for a in axes if a is not Ellipsis))
    with suppress(TypeError):  # labels of several types stay in the order of appearance
        labels.sort()
    for a in labels:
        letters[a] = get_symbol(len(letters))
    text = ",".join(map(spelled, lists))
    if out is not None:
        text += f"->{spelled(out)}"
    return text, tuple(arrays)


@placed
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = _DEFAULT_PATH,
    precision: PrecisionLike = None,
    preferred_element_type: DTypeLike | None = None,
    _dot_general: Any = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the sum of products that letters for axes describe.

    Args:
      subscripts: as `"ij,jk->ik"`: a letter for each axis of each operand; those that the result
        doesn't have are summed over. Without an arrow the result has the letters that occur once,
        in order. `...` stands for any further axes, which are broadcast. Or in NumPy's other
        form, operands and lists of integers in turn.
      *operands: array_like, or nested lists of numbers.
      out: must be None: arrays can't be written to.
      optimize: how to find the order of contractions: 'auto', 'optimal', 'greedy', False, or a
        path as `einsum_path` gives.
      precision: a `lax.Precision` or its name.
      preferred_element_type: the dtype to sum in, and of the result.
      _dot_general: a function to call in place of `lax.dot_general` for each pair of operands, as
        libraries do that make products narrow.
      out_sharding: the sharding of the result, on a mesh with explicit axes.

    Raises:
      ValueError: where subscripts don't fit the operands.

    >>> import effax.numpy as jnp
    >>> jnp.einsum("ij,j", jnp.arange(6.0).reshape(2, 3), jnp.ones(3))
    Array([ 3., 12.], dtype=float32)
    >>> jnp.einsum("ii->i", jnp.arange(4).reshape(2, 2))
    Array([0, 3], dtype=int32)
    """
    refuse_out("einsum", out)
    text, arrays = _text(subscripts, operands)
    arrays = tuple(asarray(x, "einsum") for x in arrays)
    if optimize is True:
        optimize = _DEFAULT_PATH
    elif isinstance(optimize, list):
        optimize = tuple(tuple(x) if isinstance(x, list) else x for x in optimize)
    if isinstance(optimize, tuple):
        # A path as returned by einsum_path.
        steps = [x for x in optimize if not isinstance(x, str)]
        terms, result, _ = _planned(text, tuple(typeof(x).shape for x in arrays), _DEFAULT_PATH)
        path = tuple(tuple(sorted(step, reverse=True)) for step in steps)
    else:
        terms, result, path = _planned(text, tuple(typeof(x).shape for x in arrays), optimize)
    precision = canonical_precision(precision)
    return _einsum(arrays, terms, result, path, precision, preferred_element_type, _dot_general)


@whole("terms", "result", "path", "precision", "preferred_element_type", "pair")
def _einsum(
    operands: tuple[Array, ...],
    terms: tuple[str, ...],
    result: str,
    path: tuple[tuple[int, ...], ...],
    precision: Any,
    preferred_element_type: Any,
    pair: Any,
) -> Array:
    wanted = preferred(preferred_element_type, "einsum")
    values = list(promote_dtypes(*operands) if wanted is None else operands)
    weak = False
    if wanted is None:
        wanted, weak = lattice_result([typeof(x) for x in operands])
    names: list[Sequence[Any]] = list(terms)
    for i, (x, term) in enumerate(zip(values, terms, strict=True)):
        values[i], names[i] = diagonals(x, term)
    for step in path:
        chosen = [(values.pop(i), names.pop(i)) for i in step]
        needed = {*result}.union(*names)
        x, of_x = chosen.pop()
        if not chosen:
            x, of_x = summed(x, of_x, needed, wanted)
        while chosen:
            y, of_y = chosen.pop()
            still = needed.union(*(n for _, n in chosen))
            present = [n for n in dict.fromkeys([*of_x, *of_y]) if n in still]
            if not values and not chosen:
                present = list(result)
            x = contract(x, of_x, y, of_y, present, precision=precision, dtype=wanted, pair=pair)
            of_x = present
        values.append(x)
        names.append(of_x)
    (x,), (of_x,) = values, names
    x, of_x = summed(x, of_x, {*result}, wanted)
    return cast(ordered(x, of_x, result), wanted, weak)


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = "greedy"
) -> tuple[list[tuple[int, ...]], Any]:
    """Return the order of contractions for `einsum`, and a description of its cost.

    Args:
      subscripts, *operands: as for `einsum`; of operands the shapes alone matter.
      optimize: how to find the order: "greedy", "optimal" or another of opt_einsum's ways.

    >>> import effax.numpy as jnp
    >>> x = jnp.ones((2, 3))
    >>> path, _ = jnp.einsum_path("ij,kj,kl->il", x, x, x)
    >>> path
    [(0, 1), (0, 1)]
    """
    from opt_einsum import contract_path

    text, arrays = _text(subscripts, operands)
    shapes = [typeof(asarray(x, "einsum_path")).shape for x in arrays]
    path, info = contract_path(text, *shapes, shapes=True, optimize=optimize)
    return path, info
