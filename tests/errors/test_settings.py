"""Settings of JAX: each is answered, or refused by its name."""

import logging
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import effax
import effax.nn as nn
import effax.numpy as jnp
from effax.effects import config as settings
from effax.effects.config import config
from effax.effects.settings import ABSENT, INDIFFERENT
from effax.errors import JaxRuntimeError


@pytest.mark.parametrize("name", sorted(ABSENT))
def test_what_is_absent_is_refused_by_name(name):
    default = getattr(config, f"jax_{name}")
    assert default == ABSENT[name]
    config.update(f"jax_{name}", default)
    with pytest.raises(NotImplementedError, match=f"{name}="):
        config.update(f"jax_{name}", "something else")
    assert f"jax_{name}" not in config.values


@pytest.mark.parametrize("name", sorted(INDIFFERENT))
def test_what_chooses_between_ways_of_jax_is_kept_and_changes_nothing(name):
    default = config.read(name)
    other = not default if isinstance(default, bool) else 7
    try:
        config.update(f"jax_{name}", other)
        assert getattr(config, f"jax_{name}") == other
        assert effax.jit(nn.softmax)(jnp.zeros(2)).tolist() == [0.5, 0.5]
    finally:
        config.update(f"jax_{name}", default)
    assert config.read(name) == default


# ------------------------------------------------------------------------------ transfer guards

X = jnp.ones(3)
F = effax.jit(lambda x: x * 2)
IMPLICIT = {
    "a NumPy array into jit": lambda: F(np.ones(3, np.float32)),
    "a number into jit": lambda: F(2.0),
    "a number into an operation": lambda: X + 1,
    "a NumPy array into an operation": lambda: jnp.sin(np.ones(3)),
    "a list into an array": lambda: jnp.array([1.0, 2.0]),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_transfers_nobody_asked_for(name, caplog):
    IMPLICIT[name]()
    for level in ("disallow", "disallow_explicit"):
        with (
            effax.transfer_guard(level),
            pytest.raises(
                JaxRuntimeError, match=r"Disallowed host-to-device transfer at .*test_settings\.py"
            ),
        ):
            IMPLICIT[name]()
    with effax.transfer_guard("log"), caplog.at_level(logging.WARNING, "effax"):
        IMPLICIT[name]()
    assert "host-to-device transfer at" in caplog.text
    with effax.transfer_guard_host_to_device("allow"), effax.transfer_guard("disallow"):
        IMPLICIT[name]()


def test_transfers_that_were_asked_for():
    def explicit():
        return effax.device_get(effax.device_put(np.ones(3)))

    with effax.transfer_guard("disallow"):
        assert explicit().tolist() == [1, 1, 1]
        assert np.asarray(F(X)).tolist() == [2, 2, 2]  # on the CPU reading is no transfer
        assert (X + X).tolist() == [2, 2, 2]
    with (
        effax.transfer_guard("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="disallow_explicit"),
    ):
        explicit()


def test_a_guard_has_levels():
    with pytest.raises(ValueError, match="transfer_guard must be one of allow, log"):
        effax.transfer_guard("forbid")


# ------------------------------------------------------------------------------- others


def test_what_checkpoint_keeps_is_logged(caplog):
    def f(x):
        y = effax.ad_checkpoint.checkpoint_name(jnp.sin(x), "kept")
        return jnp.sin(y)

    policy = effax.checkpoint_policies.save_only_these_names("kept")
    with settings.log_checkpoint_residuals(True), caplog.at_level(logging.WARNING, "effax"):
        effax.grad(effax.checkpoint(f, policy=policy))(1.0)
    assert "saving these intermediates:" in caplog.text
    assert "from name at" in caplog.text and "test_settings.py" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "effax"):
        effax.grad(effax.checkpoint(lambda x: jnp.sin(jnp.cos(x))))(1.0)
    (record,) = [r for r in caplog.records if "remat-decorated" in r.getMessage()]
    assert record.levelno == logging.DEBUG, "what is not asked for is told to who debugs"
    assert "saving inputs with shapes:\n  f32[]" in record.getMessage()


def test_large_constants_warn():
    table = jnp.ones(1000)
    with (
        settings.captured_constants_warn_bytes(2000),
        pytest.warns(UserWarning, match=r"closes over 4000 bytes.*f32\[1000\]"),
    ):
        effax.jit(lambda x: x + table)(1.0)
    with settings.captured_constants_warn_bytes(-1), warnings.catch_warnings():
        warnings.simplefilter("error")
        effax.jit(lambda x: x * table)(1.0)


def test_options_of_the_compiler():
    for option in (
        settings.compiler_enable_remat_pass(False),
        settings.disable_most_optimizations(True),
        settings.exec_time_optimization_effort(0.0),
    ):
        with option:
            assert float(effax.jit(lambda x: jnp.cos(x) + 1)(0.0)) == 2


def test_the_level_of_the_log():
    logger, before = logging.getLogger("effax"), logging.getLogger("effax").level
    try:
        config.update("logging_level", "ERROR")
        assert logger.level == logging.ERROR
        with pytest.raises(ValueError, match="logging_level"):
            config.update("logging_level", "LOUD")
    finally:
        config.update("logging_level", "NOTSET")
    assert logger.level == logging.NOTSET == before


def run_with(program, **environment):
    asked = {**os.environ, **environment}
    found = subprocess.run(
        [sys.executable, "-c", program], env=asked, capture_output=True, text=True, timeout=120
    )
    assert not found.returncode, found.stderr
    return found.stderr


def test_a_level_writes_the_log_to_stderr():
    program = """if True:
    import sys, effax
    effax.jit(lambda x: x + 1)(1)
    effax.config.update("logging_level", None)
    sys.stderr.write("===")
    effax.jit(lambda x: x + 2)(1)
    """
    before, after = run_with(program, EFFAX_LOGGING_LEVEL="DEBUG").split("===")
    assert "DEBUG:" in before and before.count("Finished tracing <lambda> for jit") == 1
    assert "INFO:" in before and "started the back-end cpu" in before
    assert after == ""
    informed = run_with("import effax; effax.jit(abs)(1)", EFFAX_LOGGING_LEVEL="INFO")
    assert "INFO:" in informed and "DEBUG:" not in informed


def test_modules_write_all_they_have_to_stderr():
    program = """if True:
    import effax
    effax.config.update("logging_level", "INFO")
    effax.config.update("debug_log_modules", "effax, another")
    effax.jit(lambda x: x + 1)(1)
    effax.config.update("debug_log_modules", "")
    effax.jit(lambda x: x + 2)(1)
    """
    assert run_with(program).count("Finished tracing") == 1
    assert "DEBUG:" in run_with("import effax; effax.jit(abs)(1)", EFFAX_DEBUG_LOG_MODULES="effax")
    own = "import logging; logging.basicConfig(); import effax; effax.jit(abs)(1)"
    assert run_with(own, EFFAX_LOGGING_LEVEL="DEBUG").count("Finished tracing") == 1


def test_filtering_of_tracebacks():
    def f(x):
        raise KeyError("inside")

    for mode, shown in [("off", True), ("quiet_remove_frames", False), ("remove_frames", False)]:
        with settings.traceback_filtering(mode), pytest.raises(KeyError) as caught:
            effax.jit(f)(1.0)
        files = [str(entry.path) for entry in caught.traceback]
        assert any("stage.py" in file for file in files) is shown
