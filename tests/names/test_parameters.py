"""The public functions and methods take arguments by JAX's names."""

import json

import effax
from tests.architecture.sources import ROOT
from tests.goldens.make_parameters import functions, methods

GOLDENS = ROOT / "tests/goldens"
RECORDED = json.loads((GOLDENS / "jax_parameters.json").read_text(encoding="utf-8"))

AT = {"indices_are_sorted", "unique_indices", "mode", "out_sharding", "wrap_negative_indices"}
ELSEWHERE = {
    **{f"array.at[0].{name}": AT for name in ("set", "add", "subtract", "multiply", "divide")},
    **{f"array.at[0].{name}": AT for name in ("mul", "power", "min", "max", "apply")},
    "jax.numpy.savez": {"allow_pickle"},
    **{
        f"jax.numpy.{name}": {"out", "where"}
        for name in (
            *("add", "subtract", "multiply", "negative", "maximum", "minimum", "logaddexp"),
            *("bitwise_and", "bitwise_or", "bitwise_xor"),
            *("logical_and", "logical_or", "logical_xor", "logaddexp2"),
        )
    },
}
"""Parameters that are among a function's `**options`, or that ufuncs take and refuse by name."""

REFUSED = {
    "jax.checkpoint": {"concrete"},  # JAX raises for it, too
    "jax.remat": {"concrete"},
    "jax.vmap": {"sum_match"},  # for JAX's own rules
    "jitted.lower(x).compile": {"device_assignment"},
}


def test_arguments_have_jaxs_names():
    listed = json.loads((GOLDENS / "jax_names.json").read_text(encoding="utf-8"))
    ours = functions(listed["modules"], "effax") | methods(effax)
    assert len(ours.keys() & RECORDED.keys()) > 1100
    missing = {
        name: unknown
        for name, asked in RECORDED.items()
        if name in ours
        and (
            unknown := set(asked)
            - set(ours[name])
            - ELSEWHERE.get(name, set())
            - REFUSED.get(name, set())
        )
    }
    assert not missing
