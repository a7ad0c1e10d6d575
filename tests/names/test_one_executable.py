"""A public function, called eagerly a second time, runs one executable and looks at nothing.

What counts is `execute_sharded` of the runtime's executables; reading an array on the host counts
against a function, and so does a program that calls back into Python. The calls are those of
tests/samples/calls.py, which has one for each function; the tables below say which functions may
do otherwise, and why.
"""

import importlib
import inspect
import json
from contextlib import suppress

import pytest

import effax
from effax.backends.xla import compile as compiling
from effax.backends.xla.array import Array
from effax.backends.xla.dispatch import lower
from effax.effects.errors import UnhandledEffectError
from tests.architecture.sources import ROOT
from tests.samples.calls import CALLS, Call, calls, environment

NONE = {
    "a fact of types and shapes": """
        numpy.broadcast_shapes numpy.can_cast numpy.einsum_path numpy.iscomplexobj numpy.isdtype
        numpy.isrealobj numpy.isscalar numpy.issubdtype numpy.iterable numpy.ndim
        numpy.promote_types numpy.result_type numpy.shape numpy.size lax.broadcast_shapes
        lax.conv_dimension_numbers lax.conv_general_permutations lax.conv_general_shape_tuple
        lax.conv_shape_tuple lax.conv_transpose_shape_tuple lax.dtype lax.padtype_to_pads
        lax.reduce_window_shape_tuple lax.shape_as_value random.key_dtype random.key_impl""",
    "the array itself, or what it is made of": """
        lax.broadcast_like lax.stage lax.stop_gradient numpy.asarray numpy.from_dlpack
        random.key_data random.wrap_key_data""",
    "small and known without computing: sent to the device": """
        numpy.arange numpy.diag_indices numpy.diag_indices_from numpy.empty numpy.empty_like
        numpy.frombuffer numpy.fromstring numpy.ones numpy.ones_like numpy.tril_indices
        numpy.tril_indices_from numpy.triu_indices numpy.triu_indices_from numpy.zeros
        numpy.zeros_like""",
    "a function": "numpy.frompyfunc numpy.vectorize",
}
"""Functions that run no executable."""
READING = {
    "text": "numpy.array_repr numpy.array_str",
    "the length of the result is that of the elements, and there is no `size`": "numpy.trim_zeros",
}
"""Functions that read elements on the host; they run what they like."""
SEVERAL = {
    "runs the user's function, effect by effect": """
        lax.associative_scan lax.scatter_apply numpy.apply_along_axis
        numpy.mask_indices numpy.piecewise
        scipy.sparse.linalg.gmres""",
    "makes the predicate a number before the branches run": "lax.cond",
}
"""Functions that run several executables."""
NOT_CALLED = {
    "inside a mapped axis only": """
        lax.all_gather lax.all_to_all lax.axis_index lax.axis_size lax.pbroadcast lax.pmax lax.pmean
        lax.pmin lax.ppermute lax.pshuffle lax.psum lax.psum_scatter lax.pswapaxes
        lax.pcast lax.psend lax.precv lax.ragged_all_to_all""",
    "about tokens, and what is kept: they compute nothing": """
        lax.after_all lax.create_token lax.dce_sink""",
    "a choice of formats": "nn.get_scaled_dot_general_config",
    "is the user's function": """
        lax.composite lax.custom_linear_solve lax.custom_root lax.platform_dependent
        scipy.optimize.minimize""",
    "files, or how arrays are printed": """
        numpy.fromfile numpy.get_printoptions numpy.load numpy.printoptions numpy.save numpy.savez
        numpy.set_printoptions""",
    "refused": "numpy.fromiter",
    "a name of a type": "lax.DotDimensionNumbers",
    "about meshes: tests/parallel": "lax.with_sharding_constraint",
}
QUICK = ("numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "image", "ops")
FAMILIES = ("numpy", "lax", "nn", "random", "scipy", "image", "ops")
RECORDED = {
    module.removeprefix("jax."): listed
    for module, listed in json.loads((ROOT / "tests/goldens/jax_names.json").read_text())[
        "modules"
    ].items()
    if module.partition(".")[2].partition(".")[0] in FAMILIES
}


def names(table):
    return {name for listed in table.values() for name in listed.split()}


class Counted:
    """An executable of the runtime that counts how often it is run."""

    runs = 0
    callbacks = 0

    def __init__(self, raw):
        self._raw = raw

    def execute_sharded(self, *args, **options):
        Counted.runs += 1
        return self._raw.execute_sharded(*args, **options)

    def __getattr__(self, name):
        return getattr(self._raw, name)


@pytest.fixture(scope="module")
def counting():
    """Every executable made in these tests counts its runs; none is left to other tests."""
    load = compiling.load

    def counted(*args, host_callbacks=(), **options):
        raw, seconds, from_disk = load(*args, host_callbacks=host_callbacks, **options)
        Counted.callbacks += len(host_callbacks)
        return Counted(raw), seconds, from_disk

    with pytest.MonkeyPatch.context() as patch:
        effax.clear_caches()
        patch.setattr(compiling, "load", counted)
        yield
    effax.clear_caches()


def cost(text, variables, monkeypatch):
    """Executables run and arrays read by the third call; callbacks compiled by the first."""
    call = Call(text, variables)
    Counted.callbacks = 0
    call()
    call()
    before, reads, host = Counted.runs, [], Array.host

    def read(array):
        reads.append(array.type)
        return host(array)

    with monkeypatch.context() as patch:
        patch.setattr(Array, "host", read)
        call()
    return Counted.runs - before, len(reads), Counted.callbacks


@pytest.mark.parametrize(
    "module", [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow) for m in CALLS]
)
def test_a_call_is_one_executable(module, counting, monkeypatch):
    variables = environment(module)
    wrong = {}
    for name, text in calls(module):
        full = f"{module}.{name}"
        runs, reads, callbacks = cost(text, variables, monkeypatch)
        if full in names(READING):
            right = reads > 0
        elif full in names(SEVERAL):
            right = runs > 1 and not reads
        else:
            right = runs == (full not in names(NONE)) and not reads
        if not right or callbacks:
            wrong[text] = f"{runs} executables, {reads} reads, {callbacks} callbacks"
    assert not wrong, "\n".join(f"{text}: {what}" for text, what in wrong.items())


@pytest.mark.parametrize("module", ["lax.linalg", "numpy.linalg", "scipy.linalg"])
def test_no_function_calls_back_on_gpus(module):
    """On GPUs too: what cuSOLVER has not is refused by name, and the docstring says so."""
    variables = environment(module)
    for _, text in calls(module):
        call = Call(text, variables)
        given = [i for i, x in enumerate(call.args) if not hasattr(x, "dtype")]
        traced = effax.make_program(call.function, static_argnums=given)
        try:
            program = traced(*call.args, **call.keywords)
        except (TypeError, ValueError):  # arguments that can be neither static nor traced
            continue
        try:
            assert lower(program, platform="cuda")[1] == [], text
        except UnhandledEffectError:
            assert "on the cpu" in call.function.__doc__.lower(), text


def test_every_function_is_called():
    """The table has a call for each public function, or a reason why not; and no idle reason."""
    functions = set()
    for module, listed in RECORDED.items():
        with suppress(ModuleNotFoundError):
            home = importlib.import_module(f"effax.{module}")
            held = {name: getattr(home, name) for name in {*listed}.intersection(dir(home))}
            found = [name for name in listed if callable(held.get(name))]
            functions |= {f"{module}.{n}" for n in found if not inspect.isclass(held[n])}
    called = {f"{module}.{name}" for module in CALLS for name, _ in calls(module)}
    assert sorted(functions - called - names(NOT_CALLED)) == []
    assert sorted(names(NOT_CALLED) & called) == []
    assert sorted((names(NONE) | names(READING) | names(SEVERAL)) - called) == []
