"""Statistics, and why a call was traced again."""

import logging

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.api.compiling import caches
from effax.effects.config import config, eager_cache


@pytest.fixture(autouse=True)
def nothing_on_disk():
    """Switch the disk cache off: programs that an earlier run compiled would be found there."""
    with eager_cache(False):
        yield


def entry(f):
    return next(e for e in effax.stats() if e.name == f.__name__)


def test_counts():
    @effax.jit
    def counted_once(x):
        return jnp.sin(x) + 1

    for _ in range(5):
        counted_once(1.0)
    for _ in range(3):
        counted_once(jnp.ones(2))
    found = entry(counted_once)
    assert (found.traces, found.compiles, found.cache_hits, found.functions) == (2, 2, 6, 1)
    assert found.compile_seconds > 0 and found.trace_seconds > 0
    assert found.place.startswith(__file__)
    text = str(effax.stats())
    row = next(line for line in text.splitlines() if line.startswith("counted_once "))
    assert row.split()[1:5] == ["2", "2", "6", "0"]
    assert text.splitlines()[0].split() == [
        *("program", "traces", "compiles", "hits", "from", "disk", "compile", "s")
    ]
    with pytest.raises(KeyError, match="never_called"):
        effax.stats().named("never_called")


def test_executables_from_the_disk(tmp_path):
    def kept_on_disk(x):
        return jnp.cosh(x) * 17

    config.update("compilation_cache_dir", str(tmp_path))
    config.update("persistent_cache_min_compile_time_secs", 0.0)
    try:
        effax.jit(kept_on_disk)(1.0)
        effax.clear_caches()
        effax.jit(kept_on_disk)(1.0)
    finally:
        config.update("compilation_cache_dir", None)
        config.update("persistent_cache_min_compile_time_secs", 1.0)
    found = entry(kept_on_disk)
    assert (found.compiles, found.disk_cache_hits, found.traces) == (1, 1, 2)
    assert found.misses == ("its traces were cleared",)


def test_operations_called_eagerly_are_listed():
    jnp.arctan2(jnp.ones((3, 1, 7)), jnp.ones((3, 1, 7)))
    found = effax.stats().named("arctan2")
    assert found.compiles + found.disk_cache_hits >= 1 and found.cache_hits is None


def test_traces_and_compilations_are_logged(caplog):
    @effax.jit
    def noted(x):
        return x * 19

    with effax.log_compiles(), caplog.at_level(logging.WARNING, "effax"):
        noted(1.0), noted(2.0)
    texts = [record.getMessage() for record in caplog.records]
    assert [text.split()[0] for text in texts] == ["Finished", "Compiling", "Finished"]
    assert all("noted" in text for text in texts)


# ------------------------------------------------------------------------------------- reasons


class Settings:
    """Compared by identity."""


def model(params, x, n=2, *rest, flag=None):
    return params["w"] * x * n


CHANGES = {
    "shape": (({"w": 1.0}, np.ones(3)), {}, r"at x, now f32\[3\] and before f32\[2\] \(the shape"),
    "rank": (({"w": 1.0}, np.ones((2, 1))), {}, r"at x, .*the number of axes"),
    "dtype": (({"w": 1.0}, np.ones(2, np.int32)), {}, r"at x, now i32\[2\] .*\(the dtype\)"),
    "weakness": (({"w": np.float32(1)}, np.ones(2)), {}, r"params\['w'\].*now strong"),
    "static": (({"w": 1.0}, np.ones(2), 3), {}, "static argument n was 2 and is 3"),
    "static type": (({"w": 1.0}, np.ones(2), 2.0), {}, "static argument n was 2 and is 2.0"),
    "tree": (({"w": 1.0, "b": 1.0}, np.ones(2)), {}, r"new arguments.*params\['b'\]"),
    "more": (({"w": 1.0}, np.ones(2), 2, 1.0), {}, r"new arguments, or parts of them: rest\[0\]"),
    "keyword": (({"w": 1.0}, np.ones(2)), {"flag": 1.0}, "new arguments, or parts of them: flag"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_named(name, caplog):
    def fresh(params, x, n=2, *rest, flag=None):
        return model(params, x, n, *rest, flag=flag)

    f = effax.jit(fresh, static_argnames="n")
    args, keywords, message = CHANGES[name]
    f({"w": 1.0}, np.ones(2), 2)
    if name in ("shape", "rank", "dtype", "weakness", "tree", "keyword"):
        args = (*args, 2)
    with effax.explain_cache_misses(), caplog.at_level(logging.WARNING, "effax"):
        f(*args, **keywords)
        f(*args, **keywords)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and record.name == "effax"
    text = record.getMessage()
    assert text.startswith("TRACING CACHE MISS at ") and "test_stats.py" in text
    with pytest.raises(ValueError, match=message):
        raise ValueError(text)


def test_the_nearest_earlier_call_is_compared(caplog):
    f = effax.jit(lambda x, y: x + y)
    f(np.ones(2), np.ones(2))
    f(np.ones(3), 1)
    f(1, 1.0)
    with effax.explain_cache_misses(), caplog.at_level(logging.WARNING, "effax"):
        f(np.ones(3), 2.0)
    assert "at y, now f32[] and before i32[] (the dtype)" in caplog.text
    assert "argument x" not in caplog.text


def test_settings_and_axes():
    f = effax.jit(lambda x: x * 2)
    f(np.float32(1))
    with effax.debug_nans(True):
        f(np.float32(1))
    effax.vmap(f, axis_name="lanes")(np.ones(4, np.float32))
    misses = effax.stats()[0:]
    texts = [m for e in misses for m in e.misses]
    assert any("debug_nans, now True and before False" in m for m in texts)
    assert any("named axes in scope were: none; and are: 'lanes' of size 4" in m for m in texts)


def test_new_functions_each_time(caplog):
    def step(x):
        return effax.jit(lambda y: y + 1)(x)

    with effax.explain_cache_misses(), caplog.at_level(logging.WARNING, "effax"):
        for _ in range(3):
            step(1.0)
    first, _, third = (record.getMessage() for record in caplog.records)
    assert "called for the first time" in first
    assert "another function defined on the same line" in third and "3 functions made at" in third


def test_statics_that_are_not_equal(caplog):
    f = effax.jit(lambda x, s: x, static_argnums=1)
    f(1.0, Settings())
    with effax.explain_cache_misses(), caplog.at_level(logging.WARNING, "effax"):
        f(1.0, Settings())
    assert "static argument s" in caplog.text
    f(1.0, len)


def test_a_closure_over_an_ended_trace(caplog):
    inner = []

    def outer(x):
        def g(y):
            return x * y

        inner.append(inner[0] if inner else effax.jit(g))
        return inner[0](2.0)

    effax.grad(outer)(1.0)
    with (
        effax.explain_cache_misses(),
        caplog.at_level(logging.WARNING, "effax"),
        pytest.raises(effax.errors.UnexpectedTracerError),
    ):
        effax.grad(outer)(1.0)
    assert "a traced value of a transform that has ended" in caplog.text


def test_threads_may_ask_why_a_call_was_traced():
    """Explaining looked through what other threads were adding to."""
    import threading

    f, failures = effax.jit(jnp.sum), []

    def work(first):
        try:
            with effax.explain_cache_misses():
                for n in range(first, 60, 6):
                    f(jnp.zeros(n))
        except RuntimeError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_caches_are_cleared_while_functions_go(monkeypatch):
    """A reference that was read just before its function went has none."""

    @effax.jit
    def stays(x):
        return x * 3

    stays(1.0)
    references = caches._caches.keyrefs
    monkeypatch.setattr(caches._caches, "keyrefs", lambda: [lambda: None, *references()])
    effax.clear_caches()
    assert stays(1.0) == 3 and entry(stays).traces == 2
