"""A case of the grid: a line of Python over `jnp`, `lax`, ... and the operands `a`, `b`, `c`, ...

It says the same to effax, to JAX and (mostly) to NumPy, is written in a file as it is, and can be
wrapped by jit, vmap and grad. Operands are recipes: what they hold follows from a seed.

>>> case = Case("jnp.sum(a, axis=-1)", (Operand("int8", (2, 3), "extreme", 1),))
>>> Case.parse(case.line()) == case
True
>>> case.operands[0].numpy().shape
(2, 3)
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

PYTHON = {"bool": bool, "int": int, "float": float, "complex": complex}
FORMS = ("array", "weak", "host", "scalar", "list")


def dtype_of(name: str) -> np.dtype[Any]:
    """A dtype by its name, NumPy's or one of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))


def is_inexact(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "fc" or "float" in np.dtype(dtype).name


def is_complex(dtype: Any) -> bool:
    return np.dtype(dtype).kind == "c"


def is_integer(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "iu" or np.dtype(dtype).name in (
        "int2",
        "int4",
        "uint2",
        "uint4",
    )


def is_unsigned(dtype: Any) -> bool:
    return np.dtype(dtype).name.startswith("uint")


class Operand(NamedTuple):
    """One operand: what kind of values (`KINDS`) of which dtype and shape, and in which form.

    form "array": an Array; "weak": a weakly typed one; "host": a NumPy array; "scalar": a Python
    scalar (shape ()); "list": nested lists.
    """

    dtype: str
    shape: tuple[int, ...]
    kind: str = "normal"
    seed: int = 0
    form: str = "array"

    def numpy(self, lane: int = 0) -> np.ndarray[Any, Any]:
        """The values; another lane has others of the same kind."""
        kind, _, word = self.kind.partition(":")
        rng = np.random.RandomState(1000 * lane + self.seed)
        dtype = dtype_of(self.dtype)
        with np.errstate(all="ignore"):
            return np.asarray(KINDS[kind](rng, self.shape, dtype, word)).astype(dtype)


class Case(NamedTuple):
    """An expression, its operands in the order of their names, and whether 64 bits are on."""

    code: str
    operands: tuple[Operand, ...] = ()
    x64: bool = False

    @property
    def names(self) -> str:
        return ", ".join(string.ascii_lowercase[: len(self.operands)])

    def function(self, names: dict[str, Any]) -> Callable[..., Any]:
        """The expression as a function of its operands, where modules are what `names` says."""
        return eval(f"lambda {self.names}: ({self.code})", {"np": np, **names})  # type: ignore[no-any-return]

    def line(self) -> str:
        return json.dumps([self.code, self.operands, self.x64])

    @classmethod
    def parse(cls, line: str) -> Case:
        return cls.make(json.loads(line))

    @classmethod
    def make(cls, parts: list[Any]) -> Case:
        code, operands, x64 = parts
        return cls(code, tuple(Operand(o[0], tuple(o[1]), *o[2:]) for o in operands), x64)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def _integers(
    rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, low: int, high: int
) -> Any:
    least, most = _limits(dtype)
    low = max(low, least)
    return rng.randint(low, max(min(high, most), low) + 1, shape)


def _normal(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Draw everyday numbers: around 0, a few units wide."""
    if is_complex(dtype):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape)
    if is_inexact(dtype):
        return rng.normal(size=shape) * 2
    if np.dtype(dtype) == np.bool_:
        return rng.randint(0, 2, shape)
    return _integers(rng, shape, dtype, -7, 9)


def _edges(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """NaN, infinities, zeros of both signs and small whole numbers, among ordinary values."""
    if not is_inexact(dtype):
        return (
            _integers(rng, shape, dtype, -1, 3) if is_integer(dtype) else rng.randint(0, 2, shape)
        )
    some = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5])
    if is_complex(dtype):
        pair = np.empty(shape, np.complex128)
        pair.real, pair.imag = rng.choice(some, shape), rng.choice(some, shape)
        return pair
    return rng.choice(some, shape)


def _extreme(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """The largest, the smallest, and what lies next to them."""
    if is_integer(dtype):
        least, most = _limits(dtype)
        some = np.array([least, most, 0, 1, most - 1, most // 2, least + 1], object)
        return rng.choice(some, shape).astype(np.uint64 if least == 0 else np.int64)
    if not is_inexact(dtype):
        return rng.randint(0, 2, shape)
    part = np.dtype(f"f{np.dtype(dtype).itemsize // 2}") if is_complex(dtype) else np.dtype(dtype)
    info = ml_dtypes.finfo(part)
    numbers = [info.max, info.min, info.smallest_normal, info.eps, 1, 0]
    some = np.array([float(x) for x in numbers])
    if is_complex(dtype):
        return rng.choice(some, shape) + 1j * rng.choice(some, shape)
    return rng.choice(some, shape)


def _positive(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    values = rng.uniform(0.25, 4, shape)
    return np.maximum(values, 1) if not is_inexact(dtype) else values


def _unit(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Inside (-1, 1)."""
    values = rng.uniform(-0.95, 0.95, shape)
    return values + 1j * rng.uniform(-0.2, 0.2, shape) if is_complex(dtype) else values


def _distinct(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """No two alike, a quarter apart at least: order can be differentiated."""
    count = int(np.prod(shape))
    step = 1 if not is_inexact(dtype) else 0.5
    return (rng.permutation(count) * step - (count // 2) * step * (not is_unsigned(dtype))).reshape(
        shape
    )


def _index(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """`index:n`: whole numbers in [-n, n), `index:m:n` in [m, n)."""
    bounds = [int(x) for x in word.split(":")]
    low, high = (-bounds[0], bounds[0]) if len(bounds) == 1 else bounds
    if is_unsigned(dtype) or np.dtype(dtype) == np.bool_:
        low = max(low, 0)
    return rng.randint(low, max(high, low + 1), shape)


def _sorted(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    return np.sort(_normal(rng, shape, dtype, word), axis=-1) if shape else rng.randint(0, 2)


def _few(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Many ties."""
    return rng.randint(0, 2 if np.dtype(dtype) == np.bool_ else 3, shape)


def _definite(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Hermitian positive definite matrices, well conditioned; what is not square, anyhow."""
    x = _normal(rng, shape, np.complex128 if is_complex(dtype) else np.float64, word)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return x
    return x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shape[-1])


def _regular(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Matrices far from singular, of full rank; what is no matrix, anyhow."""
    if len(shape) < 2:
        return _normal(rng, shape, dtype, word)
    x = _normal(rng, shape, np.complex128 if is_complex(dtype) else np.float64, word)
    return x + 6 * np.eye(*shape[-2:])


def _singular(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Matrices of rank one at most; what is no matrix, anyhow."""
    if len(shape) < 2:
        return _normal(rng, shape, dtype, word)
    row = rng.randint(-2, 3, (*shape[:-2], 1, shape[-1]))
    return rng.randint(1, 3, (*shape[:-1], 1)) * row


def _among(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """`among:0:-0.0:nan`: some of these numbers. Of complex ones both parts are."""
    some = [float(x) for x in word.split(":")]
    if not is_inexact(dtype):
        least, most = _limits(dtype) if np.dtype(dtype) != np.bool_ else (0, 1)
        some = [x for x in some if least <= x <= most] or [0.0]
    chosen = rng.choice(some, shape)
    return chosen + 1j * rng.choice(some, shape) if is_complex(dtype) else chosen


def _within(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """`within:low:high`: any number between them."""
    low, high = (float(x) for x in word.split(":"))
    if is_inexact(dtype):
        values = rng.uniform(low, high, shape)
        return values + 1j * rng.uniform(low, high, shape) if is_complex(dtype) else values
    if np.dtype(dtype) == np.bool_:
        return rng.randint(0, 2, shape)
    return _integers(rng, shape, dtype, int(np.ceil(low)), int(np.floor(high)))


def _bits(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Any bits: every exponent of a float is as likely as the others."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.randint(0, 2, shape)
    count = int(np.prod(shape))
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)


def _sparse(rng: np.random.RandomState, shape: tuple[int, ...], dtype: Any, word: str) -> Any:
    """Ordinary numbers, among which few are NaN, infinite or -0, and sometimes a row is infinite."""
    values = np.array(_normal(rng, shape, dtype, word))
    if not is_inexact(dtype) or is_complex(dtype) or not values.size:
        return values
    places = rng.randint(0, values.size, 1 + values.size // 700)
    values.reshape(-1)[places] = rng.choice([np.nan, np.inf, -np.inf, -0.0], len(places))
    if values.ndim > 1 and rng.randint(2):
        values[rng.randint(len(values))] = rng.choice([np.inf, -np.inf])
    return values


KINDS: dict[str, Callable[[np.random.RandomState, tuple[int, ...], Any, str], Any]] = {
    "normal": _normal,
    "edges": _edges,
    "extreme": _extreme,
    "positive": _positive,
    "unit": _unit,
    "distinct": _distinct,
    "index": _index,
    "sorted": _sorted,
    "few": _few,
    "definite": _definite,
    "regular": _regular,
    "singular": _singular,
    "among": _among,
    "within": _within,
    "bits": _bits,
    "sparse": _sparse,
}
# Where differences in all directions are defined.
SMOOTH = set(KINDS) - {"edges", "extreme", "singular", "few", "index", "sorted", "among"}
SMOOTH -= {"bits", "sparse"}
