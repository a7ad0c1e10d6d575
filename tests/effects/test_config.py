"""Settings: names, values, contexts, threads, and the key that traces depend on."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from effax.effects import config as module
from effax.effects.config import (
    Settings,
    config,
    debug_nans,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    numpy_rank_promotion,
)


@pytest.fixture
def restored():
    values = config.values
    yield
    for name, value in values.items():
        if getattr(config, name) != value:
            config.update(name, value)


def test_names_with_and_without_prefix(restored):
    config.update("jax_debug_nans", True)
    assert config.debug_nans is config.jax_debug_nans is True
    assert module.jax_debug_nans is True
    assert config.values["jax_debug_nans"] is True
    config.update("debug_nans", 0)
    assert config.debug_nans is False


def test_unknown_names():
    with pytest.raises(AttributeError, match="enable_x64"):
        config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="no setting"):
        _ = config.nothing_like_it
    with pytest.raises(AttributeError, match=r"config\.update"):
        config.jax_enable_x64 = True
    assert not hasattr(config, "__array__")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("enable_x64", "maybe"),
        ("numpy_rank_promotion", "shout"),
        ("default_matmul_precision", "exact"),
        ("num_cpu_devices", "many"),
        ("compilation_cache_dir", 3),
    ],
)
def test_wrong_values(name, wrong):
    with pytest.raises(ValueError, match=name):
        config.update(name, wrong)


def test_overrides_nest_and_end():
    assert not config.enable_x64
    with enable_x64(True), debug_nans():
        assert config.enable_x64
        assert bool(enable_x64)
        assert enable_x64.value
        with enable_x64(False):
            assert not config.enable_x64
            assert config.debug_nans
        assert config.enable_x64
    assert not config.enable_x64
    assert not config.debug_nans

    @default_matmul_precision("highest")
    def inside():
        return config.default_matmul_precision

    assert inside() == inside() == "highest"
    assert config.default_matmul_precision is None


def test_an_exception_ends_an_override():
    with pytest.raises(ZeroDivisionError), enable_x64(True):
        _ = 1 / 0
    assert not config.enable_x64


def test_a_setting_is_read_by_either_of_its_names():
    with enable_x64(True):
        assert config.read("jax_enable_x64") is config.read("enable_x64") is True
        assert config.values["jax_enable_x64"] is True
    with pytest.raises(AttributeError, match="enable_x64"):
        config.read("jax_enable_x46")


def test_values_are_given_by_the_names_that_jax_has_for_them():
    with disable_jit(disable=True), enable_x64(new_val=True):
        assert config.disable_jit and config.enable_x64
        with disable_jit(disable=False):
            assert not config.disable_jit


def test_keys_are_interned_and_say_what_is_in_force(restored):
    config.update("fast_paths", "all")  # whatever the environment asks for
    plain = config.trace_key()
    with enable_x64(True):
        wide = config.trace_key()
        assert wide is not plain
        assert wide.enable_x64
        with disable_jit(True):
            assert config.trace_key() not in (plain, wide)
        assert config.trace_key() is wide
    assert config.trace_key() is plain
    config.update("enable_x64", True)
    assert config.trace_key() is wide
    assert repr(wide) == "Settings(enable_x64=True)"


def test_process_wide_changes_reach_contexts_that_do_not_override_them(restored):
    with enable_x64(True):
        config.update("debug_infs", True)
        config.update("enable_x64", False)
        assert config.trace_key().debug_infs
        assert config.trace_key().enable_x64
    assert not config.trace_key().enable_x64


def test_settings_without_influence_on_traces_leave_the_key():
    before = config.trace_key()
    with module.log_compiles(True):
        assert config.log_compiles
        assert config.trace_key() is before


def test_every_slot_of_settings_is_an_option():
    options = {n.removeprefix("jax_") for n in config.values}
    # `set_mesh` and `set_xla_metadata` say what these are
    assert set(Settings.__slots__) - options == {"mesh", "xla_metadata"}
    assert set(Settings.__slots__) == set(Settings.__annotations__)


def test_threads_start_without_overrides():
    seen = []
    with enable_x64(True):
        thread = threading.Thread(target=lambda: seen.append(config.enable_x64))
        thread.start()
        thread.join()
    assert seen == [False]


def test_tasks_do_not_see_each_other():
    async def task(value):
        with enable_x64(value):
            for _ in range(3):
                await asyncio.sleep(0)
                assert config.enable_x64 is value
        return True

    async def both():
        return await asyncio.gather(task(True), task(False))

    assert asyncio.run(both()) == [True, True]


def test_watchers_may_refuse(restored):
    def refuse(value):
        raise RuntimeError("devices exist already")

    module.watch("log_compiles", refuse)
    try:
        with pytest.raises(RuntimeError, match="exist"):
            config.update("log_compiles", True)
        assert not config.log_compiles
    finally:
        module.find_option("log_compiles").watchers.remove(refuse)


def from_environment(**variables):
    program = "from effax.effects.config import config as c; print(c.enable_x64, c.num_cpu_devices)"
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_gives_first_values():
    assert from_environment(EFFAX_ENABLE_X64="1", EFFAX_NUM_CPU_DEVICES="4").stdout == "True 4\n"
    assert "EFFAX_ENABLE_X64" in from_environment(EFFAX_ENABLE_X64="perhaps").stderr


def test_choices_accept_members_of_enumerations():
    import enum

    class Mode(enum.StrEnum):
        RAISE = "raise"

    with numpy_rank_promotion(Mode.RAISE):
        assert config.numpy_rank_promotion == "raise"
        assert type(config.numpy_rank_promotion) is str


def test_a_default_device_is_a_device_or_the_name_of_a_platform():
    import effax

    for wrong in ("garbage", 3, [1]):
        with pytest.raises(ValueError, match="either a Device object"):
            effax.config.update("jax_default_device", wrong)
        with pytest.raises(ValueError, match="either a Device object"), effax.default_device(wrong):
            pass
    with effax.default_device("cpu"), effax.default_device(effax.devices()[0]):
        assert effax.numpy.zeros(1).device == effax.devices()[0]
