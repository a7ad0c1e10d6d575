"""Events: what the library tells of traces and compilations, and what programs tell."""

import pytest

import effax
import effax.numpy as jnp
from effax import monitoring


@pytest.fixture
def heard():
    found = []

    def listener(event, *what, **metadata):
        found.append((event, what, metadata))

    yield found, listener
    monitoring.clear_event_listeners()


def test_traces_and_compilations_are_told(heard):
    found, listener = heard
    monitoring.register_event_duration_secs_listener(listener)

    @effax.jit
    def monitored(x):
        return jnp.sin(x) * 31.25

    monitored(jnp.ones(7))
    told = {e: (w, m) for e, w, m in found if m.get("fun_name") == "monitored"}
    (traced,), _ = told["/jax/core/compile/jaxpr_trace_duration"]
    (compiled,), _ = told["/jax/core/compile/backend_compile_duration"]
    entry = effax.stats().named("monitored")
    assert 0 < traced <= entry.trace_seconds
    assert compiled > 0
    found.clear()
    monitored(jnp.ones(7))
    assert not [m for _, _, m in found if m.get("fun_name") == "monitored"]


KINDS = {
    "event": ("record_event", "register_event_listener", "unregister_event_listener", ()),
    "duration": (
        "record_event_duration_secs",
        "register_event_duration_secs_listener",
        "unregister_event_duration_listener",
        (1.5,),
    ),
    "time_span": (
        "record_event_time_span",
        "register_event_time_span_listener",
        "unregister_event_time_span_listener",
        (1.0, 2.5),
    ),
    "scalar": (
        "record_scalar",
        "register_scalar_listener",
        "unregister_scalar_listener",
        (7,),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_programs_tell_and_listen(kind, heard):
    found, listener = heard
    record, register, unregister, what = (
        getattr(monitoring, x) if isinstance(x, str) else x for x in KINDS[kind]
    )
    record("/mine", *what, colour="red")
    register(listener)
    record("/mine", *what, colour="red")
    assert [x for x in found if x[0] == "/mine"] == [("/mine", what, {"colour": "red"})]
    unregister(listener)
    found.clear()
    record("/mine", *what)
    assert found == []
    with pytest.raises(ValueError, match="does not listen"):
        unregister(listener)
    with pytest.raises(TypeError, match="must be callable"):
        register("no function")
    register(listener)
    monitoring.clear_event_listeners()
    record("/mine", *what)
    assert found == []
