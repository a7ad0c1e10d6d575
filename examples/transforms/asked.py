"""How the transforms of this folder are asked about the laws of transformations.

    python -m effax.laws --markdown examples/transforms/asked.py --into docs/transforms.md

A transform is asked with plain data made of the programs' arguments, and by the values of what it
returns; what it tells beside them has tests of its own.
"""

import importlib
import sys
from pathlib import Path

import effax as fx
import effax.numpy as jnp
from effax.laws import Asked

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.append(str(HERE))


def values(cls, of=None):
    """The projection that replaces data of a class by the value it stands for, its first leaf."""
    first = of or (lambda x: getattr(x, next(iter(cls._fields.leaves))))

    def project(found):
        return fx.tree.map(
            lambda x: first(x) if isinstance(x, cls) else x,
            found,
            is_leaf=lambda x: isinstance(x, cls),
        )

    return project


def is_float(x):
    return x.dtype.kind == "f"


def cost(m):
    return Asked(lambda f: lambda *args: m.cost(f)(*args)[0])


def nan_provenance(m):
    return Asked(
        m.Traced.transform,
        embed=lambda *xs: tuple(m.Traced.lift(x, "an argument") for x in xs),
        project=values(m.Traced),
    )


def harvest(m):
    return Asked(lambda f: lambda *args: m.harvest(f, tag="any")({}, *args)[0])


def key_reuse(m):
    return Asked(m.check)


def seed(m):
    key = fx.random.key(0)
    return Asked(lambda f: lambda *args: m.seed(lambda *xs: f(*xs))(key, *args))


def units(m):
    return Asked(
        m.checked,
        embed=lambda *xs: tuple(m.Quantity(x, ()) for x in xs),
        project=values(m.Quantity),
    )


def interval(m):
    return Asked(
        m.bounds,
        embed=lambda *xs: tuple(m.Interval(x, x) for x in xs),
        project=values(m.Interval),
    )


def crown(m):
    points = interval(importlib.import_module("interval"))
    return Asked(m.crown, points.embed, points.project, max_examples=3)


def sparsity(m):
    return Asked(
        m.Sparsity.transform,
        embed=lambda *xs: tuple(m.Sparsity(x, jnp.ones((1, *x.shape), bool)) for x in xs),
        project=values(m.Sparsity),
        apart={"T f = f": UNKNOWN, "T (g . f) = T g . T f": UNKNOWN},
    )


def local_sparsity(m):
    return Asked(
        m.Local.transform,
        embed=lambda *xs: tuple(m.Local(x, jnp.ones((1, *x.shape), bool)) for x in xs),
        project=values(m.Sparsity),
    )


def taylor(m):
    cls = m.series(2)
    return Asked(
        cls.transform,
        embed=lambda *xs: tuple(cls(x, 0.1 * x) if is_float(x) else x for x in xs),
        project=lambda ys: tuple(y[0] if isinstance(y, cls) else y for y in ys),
    )


def laplacian(m):
    def embed(*xs):
        return tuple(m.Laplacian(x, 0.1 * jnp.stack([x, x * x])) if is_float(x) else x for x in xs)

    return Asked(m.Laplacian.transform, embed=embed, project=values(m.Laplacian))


def adev(m):
    start = {"key": fx.random.key_data(fx.random.key(0)), "digits": 0, "weight": 1.0}
    return Asked(lambda f: lambda *args: m.Choices.transform(f, **start)(*args)[0])


def amb(m):
    return Asked(lambda f: lambda *args: m.every(f)(*args)[0])


def early_exit(m):
    return Asked(m.leaving)


UNKNOWN = (
    "a pattern that holds everywhere knows no predicate: where branches meet, the value beside it is "
    "that of the first branch, and the pattern that of all; tests/examples/test_sparsity.py asks the "
    "patterns of random programs"
)
NOT_ASKED = {  # transforms that are no functions of functions, and what is asked of them instead
    "compressed": "gives a Jacobian: that it is `jacfwd`'s is asked of random programs",
    "backpropagation": "takes programs of its own numbers: gradients are compared in its tests",
    "nested_sampling": "integrates a program: evidence is compared with integrals in its tests",
    "inverse": "turns a program round: round trips and densities are asked in its tests",
}
ENTRIES = {
    **{f.__name__: f for f in (cost, nan_provenance, harvest, key_reuse, seed, units, interval)},
    **{f.__name__: f for f in (crown, sparsity, local_sparsity, taylor, laplacian, adev)},
    **{f.__name__: f for f in (amb, early_exit)},
}
MODULES = {"local_sparsity": "sparsity"}
ASKED = {
    name: entry(importlib.import_module(MODULES.get(name, name))) for name, entry in ENTRIES.items()
}
