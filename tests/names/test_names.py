"""Every public name of JAX is here, or refused with a reason; and no reason outlives its name."""

import importlib
import json
import warnings
from fnmatch import fnmatchcase

import pytest

import effax.numpy as jnp
from effax.as_jax.finder import stand_in
from tests.architecture.sources import ROOT
from tests.names.refused import REFUSED, reason

RECORDED = json.loads((ROOT / "tests/goldens/jax_names.json").read_text(encoding="utf-8"))
MODULES = RECORDED["modules"] | RECORDED["more"]


def _has(module: str, name: str) -> bool:
    found = stand_in(module)
    if found is None:
        return False
    if isinstance(found, str):
        found = importlib.import_module(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            getattr(found, name)
        except AttributeError:
            return False
    return True


def missing(module: str) -> list[str]:
    """The names of a module of JAX that effax lacks."""
    return [f"{module}.{n}" for n in MODULES[module] if not _has(module, n)]


def missing_methods() -> list[str]:
    """The methods and properties of JAX's arrays that arrays here lack."""
    array = jnp.ones((2, 2))
    return [f"jax.Array.{name}" for name in RECORDED["Array"] if not hasattr(array, name)]


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_here_or_refused(module):
    assert [name for name in missing(module) if reason(name) is None] == []


def test_arrays_have_every_method():
    assert [name for name in missing_methods() if reason(name) is None] == []


def test_what_is_refused_is_not_here():
    absent = [name for module in MODULES for name in missing(module)]
    absent += missing_methods()
    idle = [p for p in REFUSED if not any(fnmatchcase(name, p) for name in absent)]
    assert idle == []


def test_the_page_of_what_is_refused_is_up_to_date():
    from tests.names import refused_page

    written = refused_page.PAGE.read_text(encoding="utf-8")
    assert written == refused_page.text(), "run python -m tests.names.refused_page"
