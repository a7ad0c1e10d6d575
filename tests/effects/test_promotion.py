"""Promotion agrees with JAX on every pair of dtypes, in every mode."""

import itertools
import json
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from effax.effects.config import enable_x64, numpy_dtype_promotion
from effax.effects.promotion import (
    TypePromotionError,
    lattice_result,
    promote_types,
    result_type,
    safe_to_cast,
)
from effax.effects.types import ShapedArray, typeof

GOLDENS = json.loads((Path(__file__).parents[1] / "goldens" / "promotion.json").read_text())
MODES = [(mode, bits) for mode in ("standard", "strict") for bits in (32, 64)]
WEAK = {"int": int, "float": float, "complex": complex}


def dtype_of(name):
    return WEAK.get(name) or np.dtype(getattr(ml_dtypes, name, name))


def value_of(name):
    if name in WEAK:
        return WEAK[name](1)
    return ShapedArray((), dtype_of(name.rstrip("*")), name.endswith("*"))


def answer(function, *args, **keywords):
    try:
        result = function(*args, **keywords)
    except TypePromotionError:
        return "!"
    if isinstance(result, tuple):
        return f"{result[0].name}{'*' if result[1] else ''}"
    return result.name


@pytest.mark.parametrize(("mode", "bits"), MODES)
def test_promote_types_agrees_with_jax(mode, bits):
    golden = GOLDENS[f"{mode} {bits}"]["promote_types"]
    dtypes = {name: dtype_of(name) for name in golden}
    with enable_x64(bits == 64), numpy_dtype_promotion(mode):
        for name, row in golden.items():
            ours = {b: answer(promote_types, dtypes[name], dtypes[b]) for b in dtypes}
            assert ours == dict(zip(dtypes, row.split(), strict=True)), name


@pytest.mark.parametrize(("mode", "bits"), MODES)
def test_result_type_agrees_with_jax(mode, bits):
    golden = GOLDENS[f"{mode} {bits}"]
    with enable_x64(bits == 64), numpy_dtype_promotion(mode):
        values = {name: value_of(name) for name in golden["result_type"]}
        for name, row in golden["result_type"].items():
            ours = {
                b: answer(result_type, values[name], values[b], return_weak_type_flag=True)
                for b in values
            }
            assert ours == dict(zip(values, row.split(), strict=True)), name
        alone = {n: answer(result_type, v, return_weak_type_flag=True) for n, v in values.items()}
        assert alone == golden["alone"]


def test_lattice_result_is_result_type_of_types():
    names = ["int8", "float32", "bool", "uint32", "int32*", "float32*", "complex64"]
    for chosen in itertools.product(names, repeat=3):
        types = [value_of(n) for n in chosen]
        dtype, weak = lattice_result(types)
        assert (dtype, weak) == result_type(*types, return_weak_type_flag=True)


def test_joins_are_associative_and_commutative():
    names = ["int8", "uint16", "float16", "bfloat16", "float32", "bool", "int", "float", "complex"]
    for a, b, c in itertools.product(names, repeat=3):
        x, y, z = map(value_of, (a, b, c))
        assert result_type(x, y, z) == result_type(z, y, x)


def test_dtypes_by_name_are_narrowed_with_a_warning():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64 is not available"):
        assert result_type("float64", np.int8(1)) == np.float32
    with enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result_type("float64", np.int8(1)) == np.float64


def test_refusals():
    with pytest.raises(TypePromotionError, match="no available implicit dtype promotion path"):
        promote_types("float8_e5m2", "float32")
    with pytest.raises(ValueError, match="at least one"):
        result_type()
    with pytest.raises(TypeError):
        result_type("object")
    with numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError, match="strict"):
        result_type("int32", "float32")


def test_x64_values_keep_their_dtype_when_alone():
    with enable_x64(True):
        wide = typeof(np.float64(1))
    assert lattice_result([wide, wide]) == (np.float64, False)
    assert safe_to_cast(np.int16(1), "float32")
