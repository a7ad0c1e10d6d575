"""Writes dtypes.json: the dtype and weak type jnp functions give, by the dtypes they are given.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_dtypes     (from the root, in a venv with jax)

For each function a table from its arguments, "float16" or "int8,py_float", to what comes out:
"float32", "float32*" if weakly typed, several joined by ", " for several results, or "error".
With x64 off. `answer` is what is asked of jax here and of effax in
tests/numpy/test_dtypes.py; it only stages, so that a thousand questions compile nothing.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent

ARRAYS = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64")
SCALARS = {"py_bool": True, "py_int": 2, "py_float": 0.5, "py_complex": 0.5 + 1j}
# For two arguments: an array with itself, with each kind of scalar, and what promotes unusually.
MIXED = (
    ("int8", "uint8"),
    ("int8", "float16"),
    ("uint8", "int32"),
    ("int32", "float16"),
    ("int32", "bfloat16"),
    ("int32", "float32"),
    ("float16", "bfloat16"),
    ("bfloat16", "float32"),
    ("float32", "complex64"),
    ("py_int", "py_int"),
    ("py_int", "py_float"),
    ("py_float", "bfloat16"),
    ("py_bool", "py_bool"),
)

UNARY = """
abs negative positive sign square sqrt cbrt reciprocal exp exp2 expm1 log log2 log10 log1p
sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sinc i0
floor ceil trunc rint round degrees radians isnan isinf isfinite isposinf isneginf signbit
logical_not bitwise_not invert real imag conjugate angle isreal iscomplex nan_to_num frexp modf
sum prod mean var std max min ptp any all argmax argmin count_nonzero median nansum nanmean nanmax
cumsum cumprod nancumsum sort argsort unique_counts diff ediff1d gradient trapezoid
ravel transpose flip roll_one zeros_like ones_like empty_like full_like_2 array asarray copy
expand_dims_0 tile_2 repeat_2 atleast_2d nonzero_3 average norm logsumexp softmax clip_0_1
""".split()  # noqa: SIM905

BINARY = """
add subtract multiply divide true_divide floor_divide mod remainder fmod divmod power float_power
maximum minimum fmax fmin arctan2 hypot logaddexp logaddexp2 copysign nextafter ldexp heaviside
equal not_equal less greater_equal logical_and logical_xor bitwise_and bitwise_or bitwise_xor
left_shift right_shift gcd lcm dot matmul inner outer vdot tensordot_1 kron convolve cross where
concatenate stack append isclose allclose array_equal searchsorted interp result_type
linspace arange full select
""".split()  # noqa: SIM905


def function(jnp: Any, nn: Any, name: str) -> Callable[..., Any]:
    """The function of that name, or the one the name describes where arguments are needed."""
    described = {
        "roll_one": lambda x: jnp.roll(x, 1),
        "full_like_2": lambda x: jnp.full_like(x, 2),
        "expand_dims_0": lambda x: jnp.expand_dims(x, 0),
        "tile_2": lambda x: jnp.tile(x, 2),
        "repeat_2": lambda x: jnp.repeat(x, 2),
        "nonzero_3": lambda x: jnp.nonzero(x, size=3),
        "unique_counts": lambda x: jnp.unique(x, size=3, return_counts=True),
        "norm": lambda x: jnp.linalg.norm(x),
        "logsumexp": lambda x: nn.logsumexp(x),
        "softmax": lambda x: nn.softmax(x),
        "clip_0_1": lambda x: jnp.clip(x, 0, 1),
        "tensordot_1": lambda x, y: jnp.tensordot(x, y, 1),
        "where": lambda x, y: jnp.where(np.array([True, False, True]), x, y),
        "concatenate": lambda x, y: jnp.concatenate([x, y]),
        "stack": lambda x, y: jnp.stack([x, y]),
        "result_type": lambda x, y: jnp.zeros((), jnp.result_type(x, y)),
        "linspace": lambda x, y: jnp.linspace(x, y, 3),
        "arange": lambda x, y: jnp.arange(0, 3, 1) + 0 * x + 0 * y,
        "full": lambda x, y: (jnp.full((3,), x), jnp.full((3,), y)),
        "interp": lambda x, y: jnp.interp(x, y, y),
        "searchsorted": lambda x, y: jnp.searchsorted(x, y),
        "select": lambda x, y: jnp.select([np.array([True, False, True])], [x], y),
    }
    return described.get(name) or getattr(jnp, name)


def array(name: str) -> np.ndarray:
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    return np.array([1, 0, 1], dtype)


def argument_lists(name: str) -> Iterator[tuple[str, ...]]:
    """Yield the arguments to ask a function about, as names of dtypes and of scalars."""
    if name in UNARY:
        yield from ((a,) for a in (*ARRAYS, *SCALARS))
    else:
        yield from ((a, a) for a in ARRAYS)
        yield from ((a, s) for a in ("bool", "int8", "bfloat16", "float32") for s in SCALARS)
        yield from MIXED


def answer(eval_shape: Callable, leaves: Callable, fn: Callable, names: tuple[str, ...]) -> str:
    """The dtypes that `fn` gives for these arguments, or 'error'."""
    results: list[str] = []

    def staged(*arrays: Any) -> list:
        given = iter(arrays)
        result = fn(*(SCALARS[n] if n in SCALARS else next(given) for n in names))
        for leaf in leaves(result):
            if isinstance(leaf, bool | int | float | complex):
                results.append(f"python {type(leaf).__name__}")
            else:
                # A weak bool promotes as a strong one does, so the difference is not asked about.
                weak = getattr(leaf, "weak_type", False) and leaf.dtype != bool
                results.append(f"{leaf.dtype.name}{'*' if weak else ''}")
        return leaves(result)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval_shape(staged, *(array(n) for n in names if n not in SCALARS))
    except (TypeError, ValueError, IndexError, NotImplementedError):
        return "error"
    return ", ".join(results)


def main() -> None:
    import jax
    import jax.numpy as jnp

    table = {
        name: {
            ",".join(names): answer(
                jax.eval_shape, jax.tree_util.tree_leaves, function(jnp, jax.nn, name), names
            )
            for names in argument_lists(name)
        }
        for name in (*UNARY, *BINARY)
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
    (HERE / "dtypes.json").write_text(f"{{\n{lines}\n}}\n")
    print(len(table), "functions,", sum(map(len, table.values())), "answers")


if __name__ == "__main__":
    main()
