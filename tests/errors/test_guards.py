"""Settings that forbid: running, raw keys, sums of 16-bit floats, arrays left to the collector."""

import gc
import logging
import os
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

import effax
import effax.numpy as jnp

X = jnp.ones(3)


def test_nothing_runs_under_no_execution():
    double = effax.jit(lambda x: 2 * x)
    compiled = double.lower(X).compile()
    ref = effax.new_ref(X)
    write = effax.jit(lambda r: r.__setitem__(0, 1.0))
    runs = {
        "an operation": lambda: X + X,
        "a function": lambda: jnp.sin(X),
        "jit": lambda: double(X),
        "ahead of time": lambda: compiled(X),
        "a gradient": lambda: effax.grad(lambda x: x.sum())(X),
        "pmap": lambda: effax.pmap(lambda x: x)(X[None]),
        "a reference": lambda: write(ref),
    }
    for name, run in runs.items():
        if name != "pmap":
            run()  # so that it is in the caches
        with effax.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
            run()
        run()
    with effax.no_execution(True):
        assert effax.make_jaxpr(double)(X).equations
        assert double.lower(X).compile() is not None
        assert np.asarray(X).tolist() == [1, 1, 1]
        assert effax.eval_shape(double, X).shape == (3,)


def test_raw_keys_are_warned_of_or_refused():
    raw, typed = effax.random.PRNGKey(0), effax.random.key(0)
    with effax.legacy_prng_key("error"):
        assert effax.random.normal(typed).shape == ()
        for use in (effax.random.normal, effax.random.split, effax.random.key_data):
            with pytest.raises(ValueError, match="Legacy uint32 key array"):
                use(raw)
        with pytest.raises(ValueError, match="Legacy"):
            effax.jit(effax.random.normal)(raw)
    with effax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="Legacy uint32 key array"):
        effax.random.normal(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effax.random.normal(raw)
    with pytest.raises(ValueError, match="legacy_prng_key"):
        effax.legacy_prng_key("log")


def test_sums_of_half_floats_are_refused():
    h = jnp.ones(3, "bfloat16")
    with effax.allow_f16_reductions(False):
        assert float(jnp.sum(h)) == 3  # in float32
        assert effax.lax.reduce_sum(h[None], (0,)).shape == (3,)  # nothing is added up
        for total in (
            lambda: effax.lax.reduce_sum(h, (0,)),
            lambda: effax.jit(lambda h: effax.lax.reduce_sum(h, (0,)))(h),
            lambda: effax.grad(lambda a: (h + a).astype("float32").sum())(jnp.bfloat16(1)),
        ):
            with pytest.raises(ValueError, match=r"bf16\[3\] is not allowed"):
                total()
    assert float(effax.lax.reduce_sum(h, (0,))) == 3


def tangle():
    """Three arrays that only the collector can free."""
    knot = [jnp.zeros(n + 1) for n in range(3)]
    knot.append(knot)


def test_arrays_left_to_the_collector_are_told_of(caplog):
    gc.collect()
    with caplog.at_level(logging.ERROR, "effax"):
        tangle()
        gc.collect()
        assert caplog.text == ""
        with effax.array_garbage_collection_guard("log"):
            tangle()
            gc.collect()
            assert "`effax.Array` was deleted by the Python garbage collector: 3" in caplog.text
            caplog.clear()
            gc.collect()
            assert caplog.text == ""


@pytest.mark.parametrize("asked", ["update", "environment"])
def test_they_can_be_fatal(asked):
    update = "effax.config.update('array_garbage_collection_guard', 'fatal')"
    code = (
        f"import gc, effax, effax.numpy as jnp\n{update if asked == 'update' else ''}\n"
        "knot = [jnp.zeros(3)]; knot.append(knot); del knot\n"
        "gc.collect(); print('alive')"
    )
    env = os.environ | (
        {"EFFAX_ARRAY_GARBAGE_COLLECTION_GUARD": "fatal"} if asked == "environment" else {}
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode != 0
    assert "alive" not in done.stdout
    assert "collector: 1 arrays" in done.stderr


def test_live_arrays_are_those_that_someone_holds():
    def sizes():
        return [x.shape for x in effax.live_arrays() if x.shape == (3, 1, 4, 1, 5)]

    x = jnp.zeros((3, 1, 4, 1, 5))
    y = [x + 1]
    assert len(sizes()) == 2
    assert any(a is x for a in effax.live_arrays("cpu"))
    del x
    assert len(sizes()) == 1
    y[0].delete()
    assert sizes() == []
    with pytest.raises(RuntimeError, match="abacus"):
        effax.live_arrays("abacus")


def test_memories_of_a_device():
    from effax.memory import Space

    assert [s.name for s in Space] == ["Device", "Host", "Any"]
    for space in Space:
        moved = effax.device_put({"x": X, "n": 3}, space)
        assert moved["x"].tolist() == [1, 1, 1]
        assert int(moved["n"]) == 3

        def there_and_back(x, space=space):
            return effax.device_put(effax.device_put(x * x, space), Space.Device)

        assert effax.jit(there_and_back)(X).tolist() == [1, 1, 1]
        assert effax.grad(lambda x: there_and_back(x).sum())(X).tolist() == [2, 2, 2]
        assert effax.vmap(there_and_back)(X[None]).shape == (1, 3)


def test_arrays_take_attributes_of_the_users():
    """As JAX's do: caches and names are hung on them; they are no part of the value."""
    x, y = jnp.zeros(2), jnp.ones(2)
    x.next, y.next = y, x
    assert x.next.next is x and not hasattr(x + 0, "next")
    known = weakref.ref(x)
    del x, y
    gc.collect()
    assert known() is None
