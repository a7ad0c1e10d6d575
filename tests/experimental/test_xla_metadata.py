"""Metadata for XLA: on operations, values and calls, through every transformation."""

import pickle
import re

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.backends.xla.compile import parse
from effax.effects.provenance import joined, tagged, tags_of
from effax.experimental.control_deps import control_dep, schedule
from effax.experimental.scheduling_groups import scheduling_group, xla_metadata_call
from effax.experimental.xla_metadata import set_xla_metadata
from tests.samples.calls import Call, calls, environment

TAG = 'mhlo.frontend_attributes = {a = "b"}'


def text(f, *args):
    lowered = effax.jit(f).lower(*args)
    lowered.compile()  # XLA reads what was written
    return lowered.as_text()


def lines(f, operation, *args):
    found = [x for x in text(f, *args).splitlines() if f"stablehlo.{operation}" in x]
    assert found
    return found


def tagged_sine(x):
    with set_xla_metadata(a="b"):
        return jnp.sin(x)


def test_only_the_operations_of_the_block_are_tagged():
    def f(x):
        return jnp.cos(tagged_sine(x))

    assert TAG in lines(f, "sine", 1.0)[0]
    assert TAG not in lines(f, "cosine", 1.0)[0]


@pytest.mark.parametrize("value, shown", [("b", "b"), (True, "true"), (10, "10"), (1.5, "1.5")])
def test_values_are_texts(value, shown):
    def f(x):
        with set_xla_metadata(a=value):
            return jnp.sin(x)

    assert f'{{a = "{shown}"}}' in text(f, 1.0)


def test_strange_keys_and_values_are_quoted():
    def f(x):
        with set_xla_metadata(**{"a.b-c": 'say "x"\n'}):
            return jnp.sin(x)

    assert r'{"a.b-c" = "say \22x\22\0A"}' in text(f, 1.0)


def test_blocks_merge_overwrite_and_unset():
    def f(x):
        with set_xla_metadata(a="b", c="d"):
            with set_xla_metadata(a="e"):
                y = jnp.sin(x)
            with set_xla_metadata(a=None):
                z = jnp.cos(x)
            return jnp.exp(x) + y + z

    assert '{a = "e", c = "d"}' in lines(f, "sine", 1.0)[0]
    assert '= {c = "d"}' in lines(f, "cosine", 1.0)[0]
    assert '{a = "b", c = "d"}' in lines(f, "exponential", 1.0)[0]


def test_a_block_is_left_when_it_raises():
    def f(x):
        try:
            with set_xla_metadata(a="b"):
                raise KeyError("left")
        except KeyError:
            return jnp.sin(x)

    assert "frontend" not in text(f, 1.0)


def test_a_jitted_function_is_traced_for_each_metadata():
    f = effax.jit(jnp.sin)
    with set_xla_metadata(a="b"):
        assert TAG in f.lower(1.0).as_text()
    assert "frontend" not in f.lower(1.0).as_text()


def test_a_decorated_function_keeps_its_methods():
    f = set_xla_metadata(a="b")(effax.jit(lambda x: x + x))
    assert TAG in f.lower(1.0).as_text()
    assert f(1.0) == 2.0
    assert f.__wrapped__(1.0) == 2.0


def test_equations_say_their_metadata():
    (equation,) = effax.make_jaxpr(tagged_sine)(1.0).eqns
    assert equation.ctx.xla_metadata == {"a": "b"}
    (plain,) = effax.make_jaxpr(jnp.sin)(1.0).eqns
    assert plain.ctx.xla_metadata is None


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        effax.jit,
        effax.vmap,
        lambda f: lambda x: effax.jvp(f, (x,), (x,))[1],
        lambda f: effax.grad(lambda x: f(x).sum()),
        lambda f: effax.grad(lambda x: effax.jit(f)(x).sum()),
        lambda f: effax.grad(lambda x: effax.checkpoint(f)(x).sum()),
        lambda f: effax.jacrev(effax.jacfwd(lambda x: f(x).sum())),
        lambda f: lambda x: lax.scan(lambda c, r: (c, f(r)), 0.0, x)[1],
        lambda f: lambda x: lax.cond(x[0] > 0.0, f, f, x),
        lambda f: lambda x: lax.while_loop(lambda y: y[0] > 0.5, f, x),
        lambda f: effax.grad(lambda x: lax.scan(lambda c, r: (c + f(r), None), 0.0, x)[0]),
    ],
)
def test_every_transformation_keeps_metadata(transform):
    x = jnp.arange(3.0)
    g = transform(tagged_sine)
    found = re.findall(r".*stablehlo\.(?:sine|cosine) .*", text(g, x))
    assert found
    assert all(TAG in line for line in found)
    np.testing.assert_allclose(effax.jit(g)(x), transform(jnp.sin)(x), rtol=1e-6)


def test_names_and_metadata_go_together():
    def f(x):
        with effax.named_scope("layer"), set_xla_metadata(a="b"):
            return jnp.sin(x)

    (equation,) = effax.make_jaxpr(f)(1.0).eqns
    assert str(equation.source_info.name_stack) == "layer"
    lowered = effax.jit(effax.grad(f)).lower(1.0)
    assert TAG in lowered.as_text()
    assert "jvp(layer)/cos" in lowered.as_text(debug_info=True)


def test_metadata_without_a_name_leaves_labels_as_they_are():
    f = effax.jit(jnp.sin)

    def g(x):
        with set_xla_metadata(a="b"):
            return f(x)

    for h in (f, g):
        assert "jvp(jit(sin))" in effax.jit(effax.grad(h)).lower(1.0).as_text(debug_info=True)


def test_operations_with_regions_are_tagged_once():
    def f(x):
        with set_xla_metadata(a="b"):
            y = lax.scan(lambda c, r: (c + jnp.sin(r), c), 0.0, x)[1]
            return lax.cond(x[0] > 0.0, jnp.sort, jnp.cumsum, y) + lax.reduce_window(
                x, 0.0, lax.add, (3,), (1,), "SAME"
            )

    written = text(f, jnp.arange(4.0))
    assert "stablehlo.while" in written
    assert "stablehlo.case" in written
    assert not re.search(r"frontend_attributes[^\n]*frontend_attributes", written)


def test_a_long_program_keeps_metadata():
    def f(x):
        for _ in range(300):
            x = jnp.cos(tagged_sine(x))
        return x

    assert all(TAG in line for line in lines(f, "sine", jnp.arange(3.0)))
    assert not any(TAG in line for line in lines(f, "cosine", jnp.arange(3.0)))


# ------------------------------------------------------------------------------------- values


def test_a_value_tags_the_operation_that_made_it():
    def f(x):
        return set_xla_metadata(jnp.sin(jnp.cos(x)), a="b")

    assert TAG in lines(f, "sine", 1.0)[0]
    assert TAG not in lines(f, "cosine", 1.0)[0]
    assert "jit(f)" in effax.jit(f).lower(1.0).as_text(debug_info=True)
    assert TAG in effax.jit(f).lower(1.0).as_text(debug_info=True)


def test_an_argument_has_no_operation_to_tag():
    assert "frontend" not in text(lambda x: set_xla_metadata(x, a="b"), 1.0)


def test_a_tagged_value_is_the_value():
    x = {"u": jnp.arange(3.0), "v": 2.0}
    assert effax.tree.map(np.asarray, set_xla_metadata(x, a="b"))["v"] == 2.0
    f = effax.vmap(effax.grad(lambda x: set_xla_metadata(x * x, a="b")))
    np.testing.assert_array_equal(f(x["u"]), 2 * x["u"])


def test_a_value_in_a_block_has_both():
    def f(x):
        with set_xla_metadata(a="b", c="d"):
            y = jnp.sin(x)
        return set_xla_metadata(y, a="z", e="f")

    assert '{a = "b", c = "d", e = "f"}' in lines(f, "sine", 1.0)[0].replace(
        'e = "f", a = "b", c = "d"', 'a = "b", c = "d", e = "f"'
    )


def test_a_value_without_a_hash_is_refused():
    with pytest.raises(TypeError, match=r"set_xla_metadata: a must be .*got list; .*str\(a\)"):
        set_xla_metadata(1.0, a=[1])
    with pytest.raises(TypeError, match="got list"), set_xla_metadata(a=[1]):
        pass


def test_scopes_with_metadata():
    scope = tagged("x", (("a", "b"),))
    assert scope != "x"
    assert scope == tagged("x", (("a", "b"),))
    assert len({scope, tagged("x", (("a", "b"),)), "x"}) == 2
    assert tagged("", (("a", "b"),))
    assert tags_of(pickle.loads(pickle.dumps(scope))) == (("a", "b"),)
    both = joined(tagged("y", (("a", "c"), ("d", "e"))), scope)
    assert (str(both), tags_of(both)) == ("y/x", (("a", "b"), ("d", "e")))


# -------------------------------------------------------------------------------------- calls


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        effax.vmap,
        lambda f: effax.grad(lambda x: f(x).sum()),
        lambda f: effax.grad(lambda x: effax.checkpoint(f)(x).sum()),
        lambda f: lambda x: lax.scan(lambda c, r: (c, f(r)), 0.0, x)[1],
        lambda f: effax.hessian(lambda x: f(x).sum()),
    ],
)
def test_a_call_keeps_its_metadata(transform):
    x = jnp.arange(1.0, 4.0)
    g = transform(xla_metadata_call(lambda x: jnp.sin(x) * x, inlineable="false"))
    calls = [line for line in text(g, x).splitlines() if "func.call @xla_metadata_call" in line]
    assert calls
    assert all('{inlineable = "false"}' in line for line in calls)
    assert 'inlineable="false"' in effax.jit(g).lower(x).compile().as_text()
    expected = transform(lambda x: jnp.sin(x) * x)(x)
    np.testing.assert_allclose(g(x), expected, rtol=1e-6)


def test_a_call_of_a_long_program_is_not_written_out():
    part = xla_metadata_call(jnp.sin, inlineable="false")

    def f(x):
        for _ in range(450):
            x = part(x) * 2.0
        return x

    assert 'inlineable="false"' in effax.jit(f).lower(1.0).as_text(dialect="hlo")


def test_calls_of_one_program_are_one_function():
    part = xla_metadata_call(jnp.sin, inlineable="false")
    assert text(lambda x: part(part(x)), 1.0).count("func.func private @xla_metadata_call") == 1


def test_a_call_may_close_over_traced_values():
    @effax.jit
    def f(x):
        y = x + 2.0
        return scheduling_group("one")(lambda a: a * y)(x)

    np.testing.assert_array_equal(f(jnp.arange(3.0)), jnp.array([0.0, 3.0, 8.0]))
    assert 'scheduling_group = "one"' in f.lower(1.0).as_text()


def test_metadata_of_calls_are_strings():
    with pytest.raises(NotImplementedError, match="xla_metadata_call: n must be a string, got int"):
        xla_metadata_call(jnp.sin, n=1)


# --------------------------------------------------------------------------------- dependencies


def test_scheduled_operations_are_in_that_order():
    def f(x):
        a, b, c = jnp.sin(x @ x), jnp.cos(x @ x), jnp.exp(x @ x)
        schedule([c, b, a])
        return a + b + c

    x = jnp.ones((5, 5))
    pairs = re.findall(r'custom_call @"?control_dep"?\((%\d+), (%\d+)\)', text(f, x))
    made = {op: lines(f, op, x)[0].split(" ")[0] for op in ("sine", "cosine", "exponential")}
    assert pairs == [(made["exponential"], made["cosine"]), (made["cosine"], made["sine"])]
    np.testing.assert_allclose(
        effax.jit(f)(x), np.sin(5.0) + np.cos(5.0) + np.full((5, 5), np.exp(5.0)), rtol=1e-5
    )


def test_a_dependency_is_kept_though_it_has_no_result():
    @effax.jit
    def f(x):
        first, second = jnp.sin(x), jnp.cos(x)
        control_dep(first, second)
        return second

    assert "control_dep" in f.lower(1.0).as_text()
    assert f(0.0) == 1.0


# ---------------------------------------------------------------------------- every operation

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "lax", "lax.linalg", "nn", "random")
UNTAGGED = {"stablehlo.constant", "func.return"}


def lowered_calls(module):
    """The calls of a module's functions that can be staged, with their programs in MLIR."""
    names = environment(module)
    for _, told in calls(module):
        call = Call(told, names)
        leaves, tree = effax.tree.flatten((call.args, call.keywords))
        moving = [i for i, x in enumerate(leaves) if isinstance(x, effax.Array)]

        def f(*values, leaves=leaves, tree=tree, moving=moving, call=call):
            filled = list(leaves)
            for i, x in zip(moving, values, strict=True):
                filled[i] = x
            args, keywords = effax.tree.unflatten(tree, filled)
            return call.function(*args, **keywords)

        try:
            with set_xla_metadata(a="b"):
                lowered = effax.jit(f).lower(*[leaves[i] for i in moving])
        except (TypeError, AttributeError, effax.errors.EffaxError):  # it takes or gives no arrays
            continue
        yield told, parse(lowered.as_text())


@pytest.mark.parametrize("module", MODULES)
def test_the_text_of_every_operation_takes_metadata(module):
    count = 0
    for told, written in lowered_calls(module):
        (main,) = [f for f in written.body if f.attributes["sym_name"].value == "main"]
        for operation in main.regions[0].blocks[0]:
            name = operation.operation.name
            if name in UNTAGGED:
                continue
            assert "mhlo.frontend_attributes" in operation.attributes, (told, str(operation))
            assert operation.attributes["mhlo.frontend_attributes"]["a"].value == "b"
            count += 1
    assert count > 40
