"""The generated reference holds every public name, and each of our functions says what it does."""

import importlib
import inspect
import re
import sys

from tests.architecture.sources import ROOT


def _script():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return importlib.import_module("make_reference")
    finally:
        sys.path.pop(0)


def test_every_name_has_an_entry(tmp_path):
    script = _script()
    assert script.write(tmp_path) == sum(map(len, script.public().values())) > 900
    for module, names in script.public().items():
        text = (tmp_path / f"{module}.rst").read_text(encoding="utf-8")
        entries = set(re.findall(r"``(\w+)`` is :py:obj:", text))
        entries.update(re.findall(r":members: (.*)", text)[0].split(", "))
        assert entries - {""} == set(names)


def test_functions_have_docstrings():
    silent = []
    for module, names in _script().public().items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            ours = (getattr(thing, "__module__", None) or "").startswith("effax")
            if ours and inspect.isroutine(thing) and not inspect.getdoc(thing):
                silent.append(f"{module}.{name}")
    assert silent == []


NO_EXAMPLE = {
    "refused: they always raise": "numpy.fromfile numpy.fromiter",
    "need a device's profiler, or a server": """
        profiler.save_device_memory_profile profiler.start_server profiler.start_trace
        profiler.stop_server profiler.stop_trace profiler.trace""",
    "act on the process as a whole, or on a terminal": """
        as_jax.enter clear_caches debug.visualize_sharding""",
    "act on the process as a whole": """
        monitoring.clear_event_listeners
        monitoring.record_event monitoring.record_event_duration_secs
        monitoring.record_event_time_span monitoring.record_scalar
        monitoring.register_event_duration_secs_listener monitoring.register_event_listener
        monitoring.register_event_time_span_listener monitoring.register_scalar_listener
        monitoring.unregister_event_duration_listener monitoring.unregister_event_listener
        monitoring.unregister_event_time_span_listener monitoring.unregister_scalar_listener""",
    "need TensorFlow: docs/serving.md": "experimental.jax2tf.call_tf experimental.jax2tf.convert experimental.jax2tf.dtype_of_val",
    "need a compiled library": """
        ffi.register_ffi_target ffi.register_ffi_target_as_batch_partitionable
        ffi.register_ffi_type""",
    "about meshes of devices: docs/sharding.md": """
        sharding.get_abstract_mesh sharding.make_single_device_sharding""",
    "facts of the machine": """
        copy_to_host_async default_backend device_count devices host_count host_id host_ids
        local_device_count local_devices process_count process_index process_indices""",
    "for the library and its tests": """
        debugger.levels dtypes.itemsize_bits
        extend.all_effects extend.find_effect extend.stage laws.arguments laws.cases
        errors.full_traceback laws.hold laws.judge laws.law laws.matrix laws.mixed_programs laws.programs matrix.cell
        matrix.column_of matrix.find_interpreter matrix.holes matrix.library_families matrix.main
        matrix.rows""",
}
"""Public functions whose docstrings have no example, and why."""


def test_functions_have_examples():
    """Every other public function has one in its docstring; pytest runs them where they stand."""
    without = set()
    for module, names in _script().public().items():
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            ours = (getattr(thing, "__module__", None) or "").startswith("effax")
            if ours and inspect.isroutine(thing) and ">>>" not in (inspect.getdoc(thing) or ""):
                without.add(f"{module}.{name}".removeprefix("effax."))
    excused = {name for names in NO_EXAMPLE.values() for name in names.split()}
    assert not without - excused, " ".join(sorted(without - excused))
    assert not excused - without, " ".join(sorted(excused - without))
