"""Wrapped functions: their transformations, stores and caches."""

import functools

import pytest

import effax
import effax.numpy as jnp
from effax import api_util
from effax.extend import linear_util as lu
from effax.tree_util import tree_structure

IN_TREE = tree_structure(((1.0, 2.0), {}))


def counting():
    calls = []

    @lu.cache
    def staged(fun, n):
        calls.append(n)
        return fun.call_wrapped(n, n)

    return staged, calls


def test_a_result_is_found_for_an_equal_function_whose_stores_are_filled():
    staged, calls = counting()
    function = functools.partial(lambda x, y: {"sum": x + y})
    for _ in range(2):
        flat, out_tree = api_util.flatten_fun(lu.wrap_init(function), IN_TREE)
        assert staged(flat, 2) == [4]
        assert out_tree() == tree_structure({"sum": 0})
    assert calls == [2]
    other, _ = api_util.flatten_fun_nokwargs(lu.wrap_init(function), tree_structure((1, 2)))
    staged(other, 2), staged(flat, 3)
    assert calls == [2, 2, 3]


def test_settings_parameters_and_transformations_are_part_of_the_key():
    staged, calls = counting()

    @lu.transformation2
    def scaled(call, factor, *args):
        return factor * call(*args)

    def function(x, y, z=0):
        return x + y + z

    wrapped = lu.wrap_init(function)
    assert [staged(scaled(wrapped, n), 1) for n in (2, 3, 2)] == [4, 6, 4]
    assert staged(lu.wrap_init(function, {"z": 5}), 1) == 7
    with effax.enable_x64(not effax.config.jax_enable_x64):
        staged(scaled(wrapped, 2), 1)
    assert calls == [1, 1, 1, 1]


def test_what_is_kept_is_forgotten():
    staged, calls = counting()
    wrapped = lu.wrap_init(lambda x, y: x + y)
    staged(wrapped, 1)
    staged.evict_function(wrapped.f)
    staged(wrapped, 1)
    staged.cache_clear()
    staged(wrapped, 1)
    effax.clear_caches()
    staged(wrapped, 1)
    assert calls == [1] * 4


def test_misses_are_explained_where_that_is_asked_for():
    seen = []

    def explain(fun, is_first, known, key, seconds):
        seen.append((fun.f, is_first, seconds >= 0))

    staged = lu.cache(lambda fun, n: fun.call_wrapped(n), explain=explain)
    wrapped = lu.wrap_init(lambda n: n)
    with effax.explain_cache_misses(True):
        staged(wrapped, 1), staged(wrapped, 1), staged(wrapped, 2)
    assert seen == [(wrapped.f, True, True), (wrapped.f, False, True)]


def test_equal_functions_are_equal():
    def f(x):
        return x

    @lu.transformation
    def doubled(x):
        yield 2 * (yield (x,), {})

    assert lu.wrap_init(f) == lu.wrap_init(f)
    assert hash(doubled(lu.wrap_init(f))) == hash(doubled(lu.wrap_init(f)))
    assert doubled(lu.wrap_init(f)) != lu.wrap_init(f)
    assert doubled(doubled(lu.wrap_init(f))).call_wrapped(1) == 4


def test_a_store_is_empty_before_the_call():
    _, out_tree = api_util.flatten_fun(lu.wrap_init(max), IN_TREE)
    with pytest.raises(lu.StoreException, match="before the function is called"):
        out_tree()


def test_a_cached_function_stages():
    @lu.cache
    def program(fun, *types):
        return effax.make_jaxpr(fun.call_wrapped)(*types)

    wrapped = lu.wrap_init(jnp.sin)
    aval = effax.ShapeDtypeStruct((2,), "float32")
    assert program(wrapped, aval) is program(wrapped, aval)
