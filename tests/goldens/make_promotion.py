"""Writes promotion.json with jax: run `python tests/goldens/make_promotion.py` where jax is."""

import json
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ModuleNotFoundError:  # collected for its doctests where there is no jax
    jax = jnp = None

NARROW = [n for n in dir(ml_dtypes) if n.startswith(("float", "int", "uint", "bfloat"))]
NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", *NARROW,
]  # fmt: skip
WEAK = {"int": int, "float": float, "complex": complex}
DTYPES = {**{n: np.dtype(getattr(ml_dtypes, n, n)) for n in NAMES}, **WEAK}
KINDS = ["bool_", "integer", "signedinteger", "unsignedinteger", "floating", "complexfloating"]
KINDS += ["inexact", "number", "generic"]
SPELLED = ["int32*", "float32*", "complex64*", "int16*", "bfloat16*", "uint8*"]


def ask(function, *args, **keywords):
    """The dtype's name, with a star when weak; "!" where dtypes do not meet."""
    try:
        answer = function(*args, **keywords)
    except ValueError:
        return "!"
    if isinstance(answer, tuple):
        return f"{answer[0].name}{'*' if answer[1] else ''}"
    return answer.name


def value(name):
    """Return a stand-in for an array of dtype `name`, as promotion sees it; a star means weak."""
    if name in WEAK:
        return WEAK[name](1)
    dtype = DTYPES[name.rstrip("*")]
    return SimpleNamespace(dtype=dtype, aval=SimpleNamespace(weak_type=name.endswith("*")))


def main():
    warnings.simplefilter("ignore")
    goldens = {}
    for x64 in (False, True):
        for mode in ("standard", "strict"):
            with jax.enable_x64(x64), jax.numpy_dtype_promotion(mode):
                names = [*NAMES, *WEAK, *SPELLED]
                if not x64:
                    names = [n for n in names if not n.endswith("64") and n != "complex128"]
                values = {n: value(n) for n in names}
                result = partial(ask, jax.dtypes.result_type, return_weak_type_flag=True)
                goldens[f"{mode} {64 if x64 else 32}"] = {
                    "promote_types": {
                        a: " ".join(ask(jnp.promote_types, DTYPES[a], DTYPES[b]) for b in DTYPES)
                        for a in DTYPES
                    },
                    "result_type": {
                        a: " ".join(result(values[a], values[b]) for b in names) for a in names
                    },
                    "alone": {a: result(values[a]) for a in names},
                }
    goldens["issubdtype"] = {
        n: [k for k in KINDS if jnp.issubdtype(DTYPES[n], getattr(np, k))] for n in NAMES
    }
    path = Path(__file__).with_name("promotion.json")
    path.write_text(json.dumps(goldens, indent=0) + "\n")


if __name__ == "__main__":
    main()
