"""Writes random.npz and random.json: the streams of jax.random that effax.random must reproduce.

    JAX_PLATFORMS=cpu python -m tests.goldens.make_random     (from the root, in a venv with jax)

random.json lists calls (function, key, arguments, dtypes as text, tolerance); random.npz holds the
result of call i under the name str(i). A dtype that npz has no name for (bfloat16) is stored as
the integers of its bits. `replay` turns an entry of the list back into a call, under jax here and
under effax in tests/random/test_streams.py.
"""

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

HERE = Path(__file__).parent

# How close a result must be: the same bits; within 2 units in the last place, of the value itself
# or of 1 where it is less (a difference of logarithms has no relative accuracy at its zero);
# or within rounding carried through a rejection loop.
EXACT, ULP, ULP_OF_ONE, CLOSE = "exact", "ulp", "ulp of one", "close"


def dtype_of(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def decode(value: Any) -> Any:
    """Arguments as JSON holds them: {"tuple": ...}, {"array": ..., "dtype": ...}, {"dtype": ...}."""
    if isinstance(value, dict):
        if "tuple" in value:
            return tuple(value["tuple"])
        if "array" in value:
            return np.array(value["array"], dtype_of(value["dtype"]))
        return dtype_of(value["dtype"])
    return value


def replay(random, call: dict[str, Any]):
    """The result of one recorded call, with `random` the module under test."""
    if "seed" in call:
        key = random.PRNGKey(call["seed"])
        for data in call["fold"]:
            key = random.fold_in(key, data)
        args = [key]
    else:
        args = []
    args += [decode(a) for a in call["args"]]
    kwargs = {k: decode(v) for k, v in call["kwargs"].items()}
    return getattr(random, call["function"])(*args, **kwargs)


def tup(*shape: int) -> dict[str, Any]:
    return {"tuple": list(shape)}


def arr(values, dtype: str = "float32") -> dict[str, Any]:
    return {"array": values, "dtype": dtype}


def dt(name: str) -> dict[str, Any]:
    return {"dtype": name}


def calls() -> list[dict[str, Any]]:
    """Every call, in the order of the names in random.npz."""
    listed: list[dict[str, Any]] = []

    def call(function, *args, seed=0, fold=(), tol=EXACT, x64=False, keyless=False, **kwargs):
        entry = {"function": function, "args": list(args), "kwargs": kwargs, "tol": tol, "x64": x64}
        listed.append(entry if keyless else {**entry, "seed": seed, "fold": list(fold)})

    # Keys. 2**32 and above, and negative seeds, differ with x64.
    for x64 in (False, True):
        for seed in (0, 1, 42, 2**31 - 1, -1, -(2**31)):
            call("PRNGKey", seed, keyless=True, x64=x64)
    for seed in (2**31, 2**32 + 5, -(2**33), 2**63 - 1):
        call("PRNGKey", seed, keyless=True, x64=True)
    for seed in (0, 7):
        for num in (1, 2, 3, 9, tup(2, 3), tup(1), tup(0), tup()):
            call("split", num, seed=seed)
        for data in (0, 1, 123, 2**31 - 1, 2**32 - 1):
            call("fold_in", data, seed=seed)
        call("split", seed=seed, fold=[3, 5])

    # Bits, every width, odd and empty sizes, scalars.
    shapes = [tup(), tup(1), tup(3), tup(7), tup(8), tup(2, 5), tup(3, 0), tup(2, 3, 4), tup(33)]
    for name in ("uint8", "uint16", "uint32"):
        for shape in shapes:
            call("bits", shape, dt(name), seed=3)
    for shape in shapes:
        call("bits", shape, dt("uint64"), seed=3, x64=True)
        call("bits", shape, seed=3, x64=True)
    call("bits", tup(4), seed=2**31 - 1, fold=[9])

    floats = [("float16", False), ("bfloat16", False), ("float32", False), ("float64", True)]
    for name, x64 in floats:
        for shape in (tup(), tup(5), tup(2, 3)):
            call("uniform", shape, dt(name), seed=1, x64=x64)
            call("normal", shape, dt(name), seed=1, x64=x64, tol=ULP)
        call("uniform", tup(6), dt(name), -3.0, 5.0, seed=2, x64=x64)
        call("exponential", tup(7), dt(name), seed=4, x64=x64, tol=ULP_OF_ONE)
        call("gumbel", tup(7), dt(name), seed=5, x64=x64, tol=ULP_OF_ONE)
        call("laplace", tup(7), dt(name), seed=6, x64=x64, tol=ULP_OF_ONE)
        call("logistic", tup(7), dt(name), seed=7, x64=x64, tol=ULP_OF_ONE)
        call("cauchy", tup(7), dt(name), seed=8, x64=x64, tol=CLOSE)
        call("truncated_normal", -2.0, 1.5, tup(7), dt(name), seed=9, x64=x64, tol=ULP_OF_ONE)
    call("uniform", seed=1)
    call("uniform", tup(101), seed=10)
    call("uniform", tup(2, 3), minval=arr([0.0, 1.0, 2.0]), maxval=arr([1.0, 3.0, 7.0]), seed=11)
    call("normal", seed=1, tol=ULP)
    call("normal", tup(101), seed=10, tol=ULP)
    call("normal", tup(3), dt("complex64"), seed=12, tol=ULP)
    call("uniform", tup(3), seed=1, x64=True)
    call("normal", tup(3), seed=1, x64=True, tol=ULP)

    # Integers: ranges that are powers of two, that are not, that reach the ends of the dtype.
    for name, x64 in [("int8", False), ("uint8", False), ("int16", False), ("uint16", False)] + [
        ("int32", False), ("uint32", False), ("int64", True), ("uint64", True)
    ]:  # fmt: skip
        for low, high in ((0, 2), (0, 10), (3, 100), (5, 5), (9, 4)):
            call("randint", tup(9), low, high, dt(name), seed=13, x64=x64)
        info = np.iinfo(name)
        if info.max <= 2**31 - 1:
            call("randint", tup(9), info.min, info.max, dt(name), seed=14, x64=x64)
        if info.max < 2**31 - 1:
            call("randint", tup(9), info.min, info.max + 1, dt(name), seed=14, x64=x64)
    call("randint", tup(9), -7, 1_000_003, seed=15)
    call("randint", tup(), 0, 10, seed=15)
    call("randint", tup(2, 3), 0, arr([2, 5, 1000], "int32"), seed=16)
    call("randint", tup(9), -(10**12), 10**12, seed=17, x64=True)

    for size in (0, 1, 2, 10, 33):
        call("permutation", size, seed=18)
    matrix = arr(np.arange(12.0).reshape(4, 3).tolist())
    call("permutation", arr(list(range(7)), "int32"), seed=19)
    call("permutation", matrix, seed=20)
    call("permutation", matrix, axis=1, seed=20)
    call("permutation", matrix, independent=True, seed=21)
    call("permutation", matrix, axis=1, independent=True, seed=21)

    p = arr([0.1, 0.0, 0.2, 0.3, 0.4])
    call("choice", 10, seed=22)
    call("choice", 10, tup(5), seed=22)
    call("choice", 10, tup(2, 3), replace=False, seed=22)
    call("choice", arr([1.5, 2.5, 4.5, 8.5, 9.5]), tup(4), seed=23)
    call("choice", arr([1.5, 2.5, 4.5, 8.5, 9.5]), tup(4), replace=False, seed=23)
    call("choice", 5, tup(11), p=p, seed=24)
    call("choice", 5, tup(4), replace=False, p=p, seed=24)
    call("choice", matrix, tup(2), axis=1, seed=25)
    call("choice", matrix, tup(3), replace=False, seed=25)

    call("bernoulli", seed=26)
    call("bernoulli", 0.3, tup(9), seed=26)
    call("bernoulli", arr([0.0, 0.2, 0.9, 1.0]), seed=27)
    call("bernoulli", arr([0.5, 0.9]), tup(3, 2), seed=27)
    call("rademacher", tup(9), seed=28)

    logits = arr([[0.1, 2.0, -1.0], [0.0, 0.0, 5.0]])
    call("categorical", logits, seed=29)
    call("categorical", logits, axis=0, seed=29)
    call("categorical", logits, shape=tup(4, 2), seed=30)
    call("truncated_normal", arr([-1.0, 0.0]), arr([1.0, 4.0]), seed=31, tol=ULP_OF_ONE)

    call("gamma", 2.5, tup(5), seed=32, tol=CLOSE)
    call("gamma", arr([0.3, 1.0, 9.0]), seed=33, tol=CLOSE)
    call("gamma", 2.5, tup(5), seed=32, x64=True, tol=CLOSE)
    call("beta", 2.0, 0.7, tup(5), seed=34, tol=CLOSE)
    call("dirichlet", arr([0.5, 1.0, 3.0]), tup(2), seed=35, tol=CLOSE)
    call("poisson", 0.8, tup(9), seed=36)
    call("poisson", 25.0, tup(9), seed=37)
    call("multivariate_normal", arr([1.0, -1.0]), arr([[2.0, 0.5], [0.5, 1.0]]), tup(3),
         seed=38, tol=CLOSE)  # fmt: skip
    return listed


def main() -> None:
    import jax

    results, listed = {}, calls()
    for i, call in enumerate(listed):
        jax.config.update("jax_enable_x64", call["x64"])
        try:
            result = np.asarray(replay(jax.random, call))
        except Exception as error:
            raise RuntimeError(f"call {i}: {call}") from error
        call["dtype"] = result.dtype.name
        bits = result.view(np.uint16) if result.dtype == ml_dtypes.bfloat16 else result
        results[str(i)] = bits
    np.savez_compressed(HERE / "random.npz", **results)
    lines = ",\n".join(json.dumps(call) for call in listed)
    (HERE / "random.json").write_text(f"[\n{lines}\n]\n")
    print(len(listed), "calls")


if __name__ == "__main__":
    main()
