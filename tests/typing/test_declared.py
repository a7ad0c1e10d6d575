"""Declarations of arrays for type checkers agree with the run time."""

import ast
import importlib
import inspect
from functools import partial
from typing import get_type_hints

import pytest

from effax.backends.xla.array import Array
from effax.effects.value import Value
from tests.architecture.sources import ROOT

HIDDEN = {"__annotations__", "__array_priority__", "__doc__", "__module__", "__slots__"}


def methods(path: str, name: str) -> dict[str, ast.FunctionDef]:
    """The functions in the body of a class, by name, those under `if TYPE_CHECKING` included."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    (cls,) = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == name]
    return {n.name: n for n in ast.walk(cls) if isinstance(n, ast.FunctionDef)}


DECLARED = methods("effects/declared.py", "Declared")


def declared_parameters(function: ast.FunctionDef) -> list[tuple[str, str]]:
    a = function.args
    found = [(p.arg, "POSITIONAL_ONLY") for p in a.posonlyargs]
    found += [(p.arg, "POSITIONAL_OR_KEYWORD") for p in a.args]
    found += [(a.vararg.arg, "VAR_POSITIONAL")] if a.vararg else []
    found += [(p.arg, "KEYWORD_ONLY") for p in a.kwonlyargs]
    found += [(a.kwarg.arg, "VAR_KEYWORD")] if a.kwarg else []
    return found[1:]  # self


def real_parameters(name: str) -> list[tuple[str, str]]:
    found = [
        (p.name, p.kind.name) for p in inspect.signature(getattr(Array, name)).parameters.values()
    ]
    # `clip` takes the names that its bounds had before, to refuse them.
    return [(n, kind) for n, kind in found[1:] if kind != "VAR_KEYWORD"]


def test_all_that_is_installed_is_declared():
    for name in dir(Value):
        getattr(Value, name)  # what is installed on demand takes its place
    written = methods("effects/value.py", "Value")
    installed = {n for n in vars(Value) if n not in written and n not in HIDDEN}
    assert installed <= DECLARED.keys()


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_is_there(name):
    decorators = {d.id for d in DECLARED[name].decorator_list if isinstance(d, ast.Name)}
    found = inspect.getattr_static(Array, name)
    if "property" in decorators:
        getattr(Array, name)
        assert isinstance(inspect.getattr_static(Array, name), property), f"{name}: {found!r}"
    else:
        assert declared_parameters(DECLARED[name]) == real_parameters(name)


def wrappers(function):
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "numpy.fft", "lax", "random", "nn"])
def test_a_function_that_names_out_sharding_takes_it(module):
    """Its body does not look at it: the wrapper `placed` does."""
    found = importlib.import_module(f"effax.{module}")
    naming, taking = set(), set()
    for name in dir(found):
        chain = [f for f in wrappers(getattr(found, name)) if inspect.isfunction(f)]
        if chain and "out_sharding" in chain[-1].__code__.co_varnames:
            naming.add(name)
        if any(f.__code__.co_qualname == "placed.<locals>.call" for f in chain):
            taking.add(name)
    # The one refuses it, the other hands it on to a function that takes it.
    assert naming - {"rng_bit_generator", "reshape"} == taking - {"reshape"}


@pytest.mark.parametrize(
    "module",
    [
        "",
        ".numpy",
        ".numpy.linalg",
        ".numpy.fft",
        ".lax",
        ".random",
        ".nn",
        ".scipy.special",
        ".scipy.linalg",
    ],
)
def test_annotations_can_be_evaluated(module):
    """Tools that look at them at run time, such as beartype, find every name."""
    found = importlib.import_module(f"effax{module}")
    functions = [
        f
        for f in map(inspect.unwrap, map(partial(getattr, found), dir(found)))
        if inspect.isfunction(f)
    ]
    assert functions
    for function in functions:
        if function.__name__ != "pmap":  # what it returns is declared for checkers alone
            get_type_hints(function)
