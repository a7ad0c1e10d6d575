"""Tools for tests of examples/transforms: the modules, and the programs to try them on."""

import importlib
import sys
from pathlib import Path

import effax as fx
import effax.numpy as jnp
from tests.programs.e3 import OFFSETS, PROGRAMS, X

__all__ = ["POINTS", "PROGRAMS", "X", "load", "make"]

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "transforms"
POINTS = X + OFFSETS


def load(name):
    """The example of that name; where one builds on another, it imports it by its plain name."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def make(name):
    """The program of research.md, E3, of that name: a function of float64[5]."""
    program = PROGRAMS[name].make(fx, jnp)
    return lambda x: program(jnp.asarray(x))
