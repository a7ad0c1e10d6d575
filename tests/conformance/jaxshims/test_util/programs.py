"""The contents of staged programs, and counts of lowerings and compilations."""

from __future__ import annotations

import collections
import contextlib
import functools

import numpy as np

import jaxshims
from jaxshims.test_util.devices import _t


def _sub_jaxprs(value):
    if hasattr(value, "eqns"):
        yield value
    elif hasattr(value, "jaxpr") and hasattr(value.jaxpr, "eqns"):
        yield value.jaxpr
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _sub_jaxprs(v)


def iter_eqns(jaxpr):
    """The equations of a jaxpr and of the jaxprs inside their parameters."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in jaxpr.eqns:
        yield eqn
        for value in eqn.params.values():
            for sub in _sub_jaxprs(value):
                yield from iter_eqns(sub)


def _dots(fun, *args, **kwargs):
    jaxpr = _t("make_jaxpr")(functools.partial(fun, **kwargs))(*args)
    return [
        e for e in iter_eqns(jaxpr) if e.primitive.name in ("dot_general", "conv_general_dilated")
    ]


def assert_dot_precision(expected_precision, fun, *args):
    dots = _dots(fun, *args)
    assert dots, "no dot_general in the jaxpr"
    for eqn in dots:
        precision = eqn.params["precision"]
        if (
            expected_precision is None
            or not isinstance(precision, tuple)
            or isinstance(expected_precision, tuple)
        ):
            assert precision == expected_precision, (precision, expected_precision)
        else:
            assert precision == (expected_precision,) * 2, (precision, expected_precision)


def assert_dot_preferred_element_type(expected, fun, *args, **kwargs):
    dots = [e for e in _dots(fun, *args, **kwargs) if e.primitive.name == "dot_general"]
    assert dots, "no dot_general in the jaxpr"
    for eqn in dots:
        have = eqn.params["preferred_element_type"]
        want = None if expected is None else np.dtype(expected)
        have = None if have is None else np.dtype(have)
        assert have == want, (have, want)


def fwd_bwd_jaxprs(f, *example_args):
    """Jaxprs of the forward and of the backward pass of vjp."""
    make_jaxpr, vjp = _t("make_jaxpr"), _t("vjp")
    flatten, unflatten = _t("tree_util.tree_flatten"), _t("tree_util.tree_unflatten")
    fwd, (out_shape, res_shape) = make_jaxpr(lambda *args: vjp(f, *args), return_shape=True)(
        *example_args
    )
    bwd = make_jaxpr(lambda res, out: res(out))(res_shape, out_shape)
    del flatten, unflatten
    return fwd, bwd


_EVENTS = {
    "lower": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "compile": "/jax/core/compile/backend_compile_duration",
}
_event_counts: collections.Counter = collections.Counter()
_listening = False


def _listen():
    global _listening
    if _listening:
        return
    register = _t("monitoring.register_event_duration_secs_listener", None)
    if register is None:
        raise jaxshims.NeedsInternal("jax.monitoring (to count compilations)")

    def listener(event, duration, **kwargs):
        _event_counts[event] += 1

    register(listener)
    _listening = True


def _probe(event):
    """Does the target report this event at all?"""
    before = _event_counts[event]
    _t("jit")(lambda x: x + 1)(np.float32(1))
    if _event_counts[event] == before:
        raise jaxshims.NeedsInternal(f"monitoring event {event}")


@contextlib.contextmanager
def _count(kind):
    event = _EVENTS[kind]
    _listen()
    if not _event_counts[event]:
        _probe(event)
    start = _event_counts[event]
    final = None

    def count():
        return (_event_counts[event] if final is None else final) - start

    try:
        yield count
    finally:
        final = _event_counts[event]


def count_jit_and_pmap_lowerings():
    return _count("lower")


def count_jit_compilation_cache_miss():
    return _count("compile")


@contextlib.contextmanager
def assert_num_jit_and_pmap_compilations(times):
    with count_jit_and_pmap_lowerings() as count:
        yield
    if count() != times:
        raise AssertionError(f"expected {times} compilations, had {count()}")


def _internal_counter(name):
    @contextlib.contextmanager
    def counter(*args, **kwargs):
        raise jaxshims.NeedsInternal(f"jax._src.test_util.{name}")
        yield

    return counter


for _name in (
    "count_device_put",
    "count_device_put_fast_path_hit",
    "count_pjit_cpp_cache_miss",
    "count_aot_jit_cpp_cache_miss",
    "count_primitive_compiles",
    "count_internal_device_puts",
    "count_subjaxpr_to_hlo_conversion",
    "count_events",
    "count_jit_tracing_cache_miss",
    "collect_lowered_jaxprs",
):
    globals()[_name] = _internal_counter(_name)


@contextlib.contextmanager
def register_event_duration_listener(callback):
    register = _t("monitoring.register_event_duration_secs_listener")
    unregister = _t("monitoring.unregister_event_duration_listener")
    register(callback)
    try:
        yield
    finally:
        unregister(callback)
