"""Modules imported before anyone asks for them, and names whose modules are imported on demand."""

import ast
import importlib
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from effax.api.surface.on_demand import noted_imports
from tests.architecture.sources import ROOT

PACKAGES = ("effax", "effax.numpy", "effax.lax")
EAGER = {
    "effax": "",  # (what the package says itself)
    "effax.api": "",
    "effax.api.placing": "output_sharding",
    "effax.api.surface": "on_demand start",
    "effax.backends": "",
    "effax.backends.xla": """array array_text buffer client compile device disk_cache dispatch
        events executable execution_errors guard host launch layout ledger linalg_targets memory mesh
        placement reshard scalars special_values""",  # an operation is run, by jaxlib, on a device, and seen
    "effax.backends.xla.lowering": "locations writer",  # rules are imported family by family
    "effax.eager": "calls whole",
    "effax.effects": """columns config contexts cuts dtypes effect errors facts failures
        frames handler interning jaxpr leaks mesh mismatch nodes program provenance runtime settings tree
        types value""",  # the kernel
    "effax.effects.rows": "callback check collective control naming shape state",  # that it mentions
    "effax.interpreters": "stage",  # staging, for `whole`
    "effax.interpreters.functor": "branches lifting ordering rotation",
    "effax.numpy": "methods",  # values have operators, whose functions come later
}
"""The modules that `import effax, effax.numpy` may import: what every program needs."""
HEAVY = ("difflib", "hashlib", "json", "concurrent.futures", "pkgutil", "shutil", "tempfile")
"""Modules of Python's that take a millisecond or more, and that NumPy and jaxlib do without."""
ADVICE = (
    "each module costs every process about half a millisecond, and each class of attrs as much: "
    "import it in the function that needs it, or under TYPE_CHECKING if types alone do; a public "
    "name goes into its package's names.py (effax/api/surface/on_demand.py), a cell into its "
    "column's folder. If every program needs it, say so in EAGER or CALLS"
)
FIRST = "assert float(effax.jit(lambda x: jnp.sin(x) * 2 + 1)(0.0)) == 1"
TWENTY = "from benchmarks.child import twenty; assert abs(twenty(jnp) - 1.7) < 1e-6"
CALLS = {FIRST: 144, TWENTY: 142}
"""The number of effax's modules in memory after a program has run."""


def run(code: str) -> list[str]:
    command = [sys.executable, "-c", f"import sys, effax, effax.numpy as jnp\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_import_loads_what_every_program_needs():
    loaded = run("print(*sys.modules)")
    ours = {name for name in loaded if name.partition(".")[0] == "effax"}
    eager = {f"{package}.{name}" for package, names in EAGER.items() for name in names.split()}
    eager |= EAGER.keys()
    assert not ours - eager, f"imported anew: {sorted(ours - eager)}; {ADVICE}"
    assert not eager - ours, f"no longer imported, take them out of EAGER: {sorted(eager - ours)}"
    heavy = sorted(set(HEAVY).intersection(loaded))
    assert not heavy, f"imports {heavy}: import them in the function that needs them"


@pytest.mark.parametrize("code", CALLS)
def test_first_calls_load_little(code):
    ours = [n for n in run(f"{code}\nprint(*sys.modules)") if n.partition(".")[0] == "effax"]
    assert len(ours) <= CALLS[code], f"{len(ours)} modules: {sorted(ours)}; {ADVICE}"


def written(name: str) -> dict[str, tuple[str, str]]:
    """name -> module and the name there, of what a package's `names.py` says."""
    path = Path(importlib.import_module(name).__file__).with_name("names.py")
    found = {}
    for line in ast.parse(path.read_text(encoding="utf-8")).body[1:]:
        if isinstance(line, ast.ImportFrom):
            found |= {alias.asname: (line.module, alias.name) for alias in line.names}
        else:
            assert isinstance(line, ast.Assign)
            found[line.targets[0].id] = found[line.value.id]
    return {name: home for name, home in found.items() if not name.startswith("_")}


@pytest.mark.parametrize("name", PACKAGES)
def test_names_are_what_the_imports_say(name):
    package = importlib.import_module(name)
    expected = written(name)
    assert len(expected) > 50
    assert package._surface.homes == expected
    assert dir(package) == sorted(expected)
    for each, (home, inner) in expected.items():
        found = getattr(package, each)
        assert found is vars(package)[each]
        if name != "effax" and home != name:  # decorated where it is defined, and nowhere else
            assert found is getattr(importlib.import_module(home), inner)


def test_functions_of_numpy_stay_as_they_are():
    code = """
import numpy
before = dict(vars(numpy))
for name in dir(jnp):
    getattr(jnp, name)
print([n for n, x in before.items() if vars(numpy)[n] is not x])
"""
    assert run(code) == ["[]"]


def test_names_are_noted_from_a_zip_file(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "library.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "")
        archive.writestr("zipped/names.py", "from zipped.far import f as f, g as h\nk = f\n")
    monkeypatch.syspath_prepend(tmp_path / "library.zip")
    far = "zipped.far"
    assert noted_imports("zipped.names") == {"f": (far, "f"), "h": (far, "g"), "k": (far, "f")}
    assert {"zipped.names", far}.isdisjoint(sys.modules)


def test_a_package_without_names_is_refused():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'effax\.nn\.names'"):
        noted_imports("effax.nn.names")


@pytest.mark.parametrize("name", PACKAGES)
def test_no_module_hides_a_name(name):
    """Importing `effax.numpy.x` makes it the attribute `x`: a function of that name were lost."""
    package = importlib.import_module(name)
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    hidden = {n for n, (home, _) in package._surface.homes.items() if home != name} & modules
    assert not hidden, f"give these modules of {name} other names than their functions: {hidden}"


@pytest.mark.parametrize("name", PACKAGES)
def test_all_names_come_with_a_star(name):
    code = f"space = {{}}; exec('from {name} import *', space); print(*space)"
    assert not written(name).keys() - set(run(code))


def test_what_is_missing_is_told():
    jnp = importlib.import_module("effax.numpy")
    with pytest.raises(AttributeError, match=r"'effax.numpy' has no attribute 'nothing_such'"):
        jnp.nothing_such  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing_such'"):
        exec("from effax.numpy import nothing_such")


def test_many_threads_find_one_object():
    """Each function is wrapped once, though all threads ask for it first."""
    code = """
import threading
names = [n for n in dir(jnp) if not n.startswith("_")]
found, start = [{} for _ in range(6)], threading.Barrier(6)
def ask(i):
    start.wait()
    for name in names[i * 60:] + names[:i * 60]:
        found[i][name] = getattr(jnp, name)
        getattr(effax.Array, name, None)
threads = [threading.Thread(target=ask, args=(i,)) for i in range(6)]
sys.setswitchinterval(1e-5)
for t in threads: t.start()
for t in threads: t.join()
assert all(f.keys() == found[0].keys() for f in found), [len(f) for f in found]
print(sum(f[n] is not getattr(jnp, n) for f in found for n in names), float(jnp.add(1, 2) + 3))
"""
    assert run(code) == ["0", "6.0"]


def test_many_threads_begin_at_once():
    """Columns, families and modules that several first calls need are imported by one of them."""
    code = """
import threading
import numpy as np
x = np.ones(3, np.float32)
calls = [
    lambda: effax.grad(lambda x: jnp.sum(jnp.tanh(x)))(x),
    lambda: effax.jit(lambda x: jnp.sort(x) + jnp.cumsum(x))(x),
    lambda: effax.vmap(lambda x: jnp.linalg.norm(x))(x[None]),
    lambda: effax.random.normal(effax.random.key(0), (3,)),
    lambda: effax.lax.scan(lambda c, x: (c + x, c), 0.0, x),
    lambda: effax.effects.sort,
]
done, start = [], threading.Barrier(len(calls))
def begin(call):
    start.wait()
    call()
    done.append(call)
threads = [threading.Thread(target=begin, args=(call,)) for call in calls]
sys.setswitchinterval(1e-5)
for t in threads: t.start()
for t in threads: t.join(100)
print(len(done) == len(calls))
"""
    assert run(code) == ["True"]
