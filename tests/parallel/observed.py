"""Programs over several devices whose values somebody looks at; `test_mesh.py` runs this file."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.sharding import AxisType, NamedSharding

P = effax.P
if effax.device_count() < 8:
    pytest.skip("test_mesh.py runs this file on eight devices", allow_module_level=True)

MESH = effax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
X = effax.device_put(np.arange(16, dtype=np.float32).reshape(8, 2), NamedSharding(MESH, P("x")))


def mapped(f, spec, names=("x", "y")):
    return effax.shard_map(
        f, mesh=MESH, in_specs=spec, out_specs=spec, axis_names=set(names), check_vma=False
    )


def cut(x, *spec):
    return lax.with_sharding_constraint(x, NamedSharding(MESH, P(*spec)))


PROGRAMS = {
    "function": (lambda f: effax.jit(lambda x: effax.jit(f)(x) + 1)(X), ["x"]),
    "gradient": (lambda f: effax.grad(effax.jit(lambda x: f(x).sum()))(X), ["x"]),
    "scan": (lambda f: lax.scan(lambda c, _: (f(c), None), X, None, length=2), ["x"]),
    "branch": (lambda f: lax.cond(True, f, lambda x: x, X), ["x"]),
    "loop": (lambda f: lax.fori_loop(0, 2, lambda _, c: f(c), X), ["x"]),
    "batch": (lambda f: effax.vmap(f, in_axes=1)(X), [None, "x"]),
    "jitted batch": (lambda f: effax.jit(effax.vmap(f, in_axes=1))(X), [None, "x"]),
    "forward": (lambda f: effax.jvp(f, (X,), (X,)), ["x"]),
    "places": (lambda f: effax.jit(mapped(f, P("x")))(X), []),
    "places along one axis": (
        lambda f: effax.jit(mapped(lambda x: f(cut(x, None, "y")), P("x"), ("x",)))(X),
        [None, "y"],
    ),
    "places along another": (
        lambda f: effax.jit(mapped(lambda x: f(cut(x, "x")), P(None, "y"), ("y",)))(X),
        ["x"],
    ),
    "two": (lambda f: effax.jit(lambda x: f(cut(f(x), None, "y")))(X), ["x", [None, "y"]]),
    "ahead of time": (lambda f: effax.jit(f).lower(X).compile(), ["x"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiler_says_how_values_are_cut(name):
    run, wanted = PROGRAMS[name]
    found = []

    def f(x):
        effax.debug.inspect_array_sharding(x, callback=found.append)
        return x * 2

    run(f)
    wanted = [wanted[:1], wanted[1]] if name == "two" else [wanted]
    assert [s.spec for s in found] == [P(*spec) for spec in wanted]
    assert all(s.mesh == MESH for s in found)


def test_it_is_called_once_for_each_program_compiled():
    found = []

    @effax.jit
    def f(x):
        effax.debug.inspect_array_sharding(x, callback=found.append)
        return jnp.sin(x)

    other = effax.device_put(X, NamedSharding(MESH, P(None, "y")))
    for x in (X, X, other, X):
        np.testing.assert_allclose(f(x), np.sin(np.asarray(X)), rtol=1e-5)
    assert [s.spec for s in found] == [P("x"), P(None, "y")]


def test_its_errors_are_the_users_own():
    def refuse(sharding):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        effax.jit(lambda x: effax.debug.inspect_array_sharding(x, callback=refuse))(X)


PIECES = {
    "jit": (lambda f: f, X, 8, (2, 2)),
    "function": (lambda f: effax.jit(f), X, 8, (2, 2)),
    "gradient": (lambda f: effax.grad(lambda x: f(x).sum()), X, 8, (2, 2)),
    "scan": (
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=3)[0],
        X,
        24,
        (2, 2),
    ),
    "branch": (lambda f: lambda x: lax.cond(x[0, 0] < 9, f, lambda x: x, x), X, 8, (2, 2)),
    "batch": (lambda f: effax.vmap(f, in_axes=1), X, 16, (2,)),
    "batch that is cut": (effax.vmap, X, 64, (2,)),
    "loop of a batch": (
        lambda f: effax.vmap(lambda x: lax.while_loop(lambda c: c.sum() < 100, f, x), in_axes=1),
        X,
        None,
        (2,),
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_each_device_shows_its_piece(name):
    transform, x, count, shape = PIECES[name]
    seen = []

    def f(x):
        effax.debug.callback(lambda x: seen.append(np.array(x)), x, partitioned=True)
        return x * 2

    effax.jit(transform(f))(x)
    effax.effects_barrier()
    assert count in (None, len(seen))
    assert {piece.shape for piece in seen} == {shape}


def test_pieces_are_printed(capfd):
    @effax.jit
    def f(x, y):
        effax.debug.print("{} {}", x, y, partitioned=True)

    f(effax.device_put(np.arange(8), NamedSharding(MESH, P("x"))), 5)
    effax.effects_barrier()
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == sorted(f"[{2 * i} {2 * i + 1}] 5" for i in range(4) for _ in range(2))


def test_pieces_have_no_order():
    f = effax.jit(lambda x: effax.debug.print("{}", x, ordered=True, partitioned=True))
    with pytest.raises(NotImplementedError, match="have no order"):
        f(X)
