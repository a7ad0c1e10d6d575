"""Python's integers beside arrays whose dtype can't hold them: compared as what they are."""

import operator

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
NUMBERS = (-129, -1, 3, 128, 256, 65536, 2**31 - 1, -(2**31))
RELATIONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def ends(dtype):
    info = np.iinfo(dtype)
    return np.array([info.min, 0, 3, info.max], dtype)


@pytest.mark.parametrize("around", [lambda f: f, effax.jit, effax.vmap])
@pytest.mark.parametrize("dtype", DTYPES)
def test_relations(dtype, around):
    x = ends(dtype)
    for relation in RELATIONS:
        for n in NUMBERS:
            found = around(lambda x, n=n, relation=relation: relation(x, n))(jnp.asarray(x))
            np.testing.assert_array_equal(found, [relation(int(v), n) for v in x])
            found = around(lambda x, n=n, relation=relation: relation(n, x))(jnp.asarray(x))
            np.testing.assert_array_equal(found, [relation(n, int(v)) for v in x])


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_number_that_is_known_when_it_runs(relation):
    x = jnp.asarray(ends("uint8"))
    for n in NUMBERS:
        found = effax.jit(relation)(x, n)
        np.testing.assert_array_equal(found, [relation(v, n) for v in x.tolist()])
    with effax.enable_x64(True):
        wide = jnp.asarray(ends("uint64"))
        np.testing.assert_array_equal(relation(wide, -1), [relation(v, -1) for v in wide.tolist()])


@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_beyond_the_dtype_are_its_ends(dtype):
    x, info = jnp.asarray(ends(dtype)), np.iinfo(dtype)
    for n in NUMBERS:
        for f, least, most in (
            (lambda x, n=n: jnp.minimum(x, n), None, n),
            (lambda x, n=n: jnp.maximum(n, x), n, None),
            (lambda x, n=n: x.clip(-5, n), -5, n),
        ):
            wanted = [v if least is None else max(v, least) for v in x.tolist()]
            wanted = [v if most is None else min(v, most) for v in wanted]
            wanted = [min(max(v, info.min), info.max) for v in wanted]
            for found in (f(x), effax.jit(f)(x)):
                assert found.dtype == dtype
                assert found.tolist() == wanted


@pytest.mark.parametrize("around", [lambda f: f, effax.jit])
def test_what_needs_the_dtype_is_refused(around):
    x = jnp.asarray(ends("int8"))
    for f in (
        lambda x: lax.max(x, 500),
        lambda x: lax.add(x, -500),
        lambda x: jnp.take(x, jnp.array([9]), mode="fill", fill_value=500),
        lambda x: jnp.full_like(x, 500),
    ):
        with pytest.raises(OverflowError, match="500"):
            around(f)(x)


def test_membership():
    x = jnp.array([-12, 3, 127], "int8")
    assert jnp.isin(x, 500).tolist() == [False] * 3
    assert effax.jit(jnp.isin)(x, 3).tolist() == [False, True, False]
    assert jnp.isin(x, jnp.array([500, 127])).tolist() == [False, False, True]
    assert jnp.isin(jnp.array([2**32 - 1], "uint32"), jnp.array([2**32 - 1], "uint32")).all()
