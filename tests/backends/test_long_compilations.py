"""A program that compiles for long is named, with its size and the lines that are repeated."""

import logging
import time

import pytest

import effax
import effax.numpy as jnp
from effax.backends.xla import dispatch


def layer(x):
    return jnp.sin(x) * 1.5


@pytest.fixture
def log(monkeypatch, caplog):
    monkeypatch.setattr(dispatch, "PATIENCE", 0.0)
    caplog.set_level(logging.WARNING, "effax")
    return caplog


def said_of(log, function, x):
    effax.jit(function)(x)
    until = time.monotonic() + 20
    while not log.records and time.monotonic() < until:
        time.sleep(0.01)
    return log.text


def test_an_unrolled_loop(log):
    def unrolled(x):
        for _ in range(40):
            x = layer(x)
        return x

    said = said_of(log, unrolled, jnp.arange(7.0))
    assert "jit(unrolled) has been compiling for 0 s: 80 equations, 80 from " in said
    assert "test_long_compilations.py:14 (layer)" in said
    assert "lax.scan compiles it once" in said


def test_a_scan_repeats_nothing(log):
    def rolled(x):
        return effax.lax.scan(lambda c, _: (layer(c), None), x, None, length=40)[0]

    said = said_of(log, rolled, jnp.arange(7.0))
    assert "jit(rolled) has been compiling for 0 s: " in said
    assert "What a loop of Python's repeats" not in said


def test_what_compiles_soon_is_not_named(caplog):
    caplog.set_level(logging.WARNING, "effax")
    effax.jit(lambda x: layer(x) + 2.5)(jnp.arange(7.0))
    assert "has been compiling" not in caplog.text
