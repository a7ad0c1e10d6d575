"""Result dtypes and weak types of effax.numpy are jax.numpy's: tests/goldens/dtypes.json.

One test per function, over the dtypes and Python scalars it may meet, with x64 off. Nothing is
compiled: the questions are put to `eval_shape`.
"""

import json
from pathlib import Path

import pytest

import effax as jax
import effax.numpy as jnp
from tests.goldens.make_dtypes import answer, function

# Where jax refuses, by accident or for want of a rule, what NumPy and effax compute.
BEYOND = {
    "dot": ["int8,py_int"],
    "interp": ["bfloat16,bfloat16", "int32,bfloat16", "py_float,bfloat16"],
    "kron": ["bool,bool", "bool,py_bool", "py_bool,py_bool"],
}
# Where jax refuses too, but not before it compiles.
SOONER = {"argmax": ["complex64", "py_complex"], "argmin": ["complex64", "py_complex"]}

TABLE = json.loads((Path(__file__).parents[1] / "goldens" / "dtypes.json").read_text())


@pytest.mark.parametrize("name", TABLE)
def test_result_dtypes(name):
    fn = function(jnp, jax.nn, name)
    differing = {}
    for arguments, expected in TABLE[name].items():
        names = tuple(arguments.split(","))
        found = answer(jax.eval_shape, jax.tree_util.tree_leaves, fn, names)
        if arguments in BEYOND.get(name, ()):
            assert expected == "error" != found
        elif arguments in SOONER.get(name, ()):
            assert expected != "error" == found
        elif found != expected:
            differing[arguments] = f"{found} instead of {expected}"
    assert not differing, f"{name}: {len(differing)} of {len(TABLE[name])}\n" + "\n".join(
        f"  {arguments}: {difference}" for arguments, difference in differing.items()
    )


def test_a_kind_that_does_not_exist_is_refused_wherever_it_stands():
    assert jnp.isdtype("int8", ("real floating", "integral"))
    with pytest.raises(ValueError, match="unrecognized kind='x'"):
        jnp.isdtype("int8", ("integral", "x"))
