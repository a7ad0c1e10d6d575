"""Behaviour of JAX's that no page of its reference promises, and that libraries rely on."""

import enum
import functools
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.effects.handler import innermost
from effax.experimental.layout import Format, Layout
from effax.interpreters import batching
from effax.test_util import check_close
from effax.typing import ArrayLike


@pytest.mark.parametrize("transform", [effax.jit, effax.grad, lambda f: lambda x: f(x)])
def test_traced_values_can_be_weakly_referenced(transform):
    def alive(x):
        return x * (weakref.ref(x)() is x)

    assert transform(alive)(jnp.float32(2.0)) in (1.0, 2.0)


def test_batched_values_and_keys_can_be_weakly_referenced():
    assert effax.vmap(lambda x: x * (weakref.ref(x)() is x))(jnp.ones(2)).sum() == 2.0
    key = effax.random.key(0)
    assert weakref.ref(key)() is key


@pytest.mark.parametrize(
    "name", ["item", "sharding", "device", "addressable_shards", "is_fully_addressable"]
)
def test_attributes_of_arrays_are_found_on_the_class(name):
    assert hasattr(effax.Array, name)


def test_an_attribute_of_arrays_is_not_one_of_tracers():
    assert effax.Array.item(jnp.float32(2.0)) == 2.0
    seen = []
    effax.jit(lambda x: seen.append(hasattr(x, "addressable_shards")) or x)(1.0)
    assert seen == [False]


class Cyclic:
    """A node of trees that is its own child."""

    def __init__(self):
        self.children = [self]


effax.tree_util.register_pytree_node(Cyclic, lambda c: (c.children, None), lambda _, c: Cyclic())


@pytest.mark.parametrize(
    "walk",
    [
        effax.tree.leaves,
        effax.tree.structure,
        effax.tree.flatten,
        effax.tree.flatten_with_path,
        effax.tree.leaves_with_path,
        lambda tree, is_leaf: effax.tree.map(lambda x: 1, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: effax.tree.map_with_path(lambda p, x: 1, tree, is_leaf=is_leaf),
        lambda tree, is_leaf: effax.tree.reduce(lambda x, y: x, tree, is_leaf=is_leaf),
    ],
)
def test_nothing_below_a_leaf_is_looked_at(walk):
    walk([Cyclic()], is_leaf=lambda x: isinstance(x, Cyclic))


def test_a_tree_without_keys_is_flattened_once():
    class Counted:
        flattened = 0

    def flatten(node):
        Counted.flattened += 1
        return (), None

    effax.tree_util.register_pytree_node(Counted, flatten, lambda *_: Counted())
    for walk in (effax.tree.leaves, effax.tree.structure, lambda x: effax.tree.map(id, x)):
        Counted.flattened = 0
        walk([Counted()])
        assert Counted.flattened == 1


def test_keys_are_leaves_where_is_leaf_is_given_too():
    tree = [effax.random.key(0), [1, 2]]
    assert len(effax.tree.leaves(tree, is_leaf=lambda x: x is tree[1])) == 2
    assert len(effax.tree.leaves(tree)) == 3
    assert effax.tree.reduce(lambda n, _: n + 1, tree, 0) == 3


class OddlyNamed:
    __name__ = 3

    def __call__(self, x):
        return x + 1.0


@pytest.mark.parametrize(
    "transform", [effax.jit, effax.grad, effax.vmap, effax.checkpoint, effax.named_call]
)
def test_a_callable_may_have_a_name_that_is_no_string(transform):
    assert transform(OddlyNamed())(jnp.ones(1)[0] if transform is effax.grad else jnp.ones(1)) >= 1
    assert effax.eval_shape(OddlyNamed(), 1.0).shape == ()


def test_opt_einsum_contracts_arrays_to_arrays():
    opt_einsum = pytest.importorskip("opt_einsum")
    x, y = jnp.ones((2, 3)), jnp.ones((3, 4))
    assert isinstance(opt_einsum.contract("ij,jk->ik", x, y), effax.Array)
    assert effax.jit(lambda x, y: opt_einsum.contract("ij,jk->ik", x, y))(x, y).shape == (2, 4)
    assert "tensordot" not in dir(effax)


def test_device_get_leaves_traced_values():
    assert effax.jit(effax.device_get)(1.0) == 1.0


def test_an_enum_of_ints_is_an_int():
    class Axis(enum.IntEnum):
        ROWS = 0

    assert jnp.sum(jnp.ones((2, 3)), axis=Axis.ROWS).shape == (3,)
    assert jnp.sum(jnp.ones((2, 3)), axis=range(1)).shape == (3,)


@pytest.mark.parametrize("compare", [jnp.allclose, jnp.isclose])
def test_keys_are_close_where_they_are_equal(compare):
    keys = effax.random.split(effax.random.key(0))
    assert compare(keys, keys).all()
    assert not compare(keys[0], keys[1])
    with pytest.raises(TypeError):
        compare(keys, jnp.ones(2))


def test_a_mapped_function_is_compiled_ahead():
    mapped = effax.pmap(lambda x, n, y: (x + y) * n, static_broadcasted_argnums=1)
    x = jnp.ones((1, 2))
    compiled = mapped.lower(x, 3, x).compile()
    np.testing.assert_array_equal(compiled(x, x), np.full((1, 2), 6.0))
    assert "HloModule" in compiled.as_text()
    assert compiled.memory_analysis().argument_size_in_bytes == 16
    with pytest.raises(
        TypeError, match=r"(?s)'x' compiled with float32\[1,2\] and called with float32\[1,3\]"
    ):
        compiled(jnp.ones((1, 3)), x)


def said(function, *arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        effax.jit(function, donate_argnums=tuple(range(len(arguments))))(*arguments)
    return [str(w.message) for w in found]


def test_donations_that_save_nothing_are_warned_of():
    x, row = jnp.ones((5, 1)), jnp.ones((1, 5))
    (message,) = said(lambda x, y: x + y, x, row)
    assert message.startswith("Some donated buffers were not usable: float32[5,1], float32[1,5].")
    (message,) = said(lambda x, y: x + y, jnp.ones(5), jnp.ones(5))
    assert "float32[5]. " in message
    assert said(lambda x: x > 0, jnp.ones(5))
    assert not said(lambda x: x.reshape(5), x)
    assert not said(lambda x, y: (x, y.astype(int)), jnp.ones(5), jnp.ones(5))
    assert not said(lambda x, y: x, jnp.ones(5), jnp.ones(3))


def test_orbax_asks_shardings_for_their_devices():
    place = effax.sharding.SingleDeviceSharding(effax.devices()[0])
    assert place._addressable_device_assignment == place._device_assignment == (effax.devices()[0],)


def test_arrays_are_put_where_a_format_says():
    place = effax.sharding.SingleDeviceSharding(effax.devices()[0])
    for layout in (Layout((0, 1)), None):
        found = effax.device_put(jnp.ones((2, 3)), Format(layout, place))
        assert found.sharding == place
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    with pytest.raises(ValueError, match="are row-major"):
        effax.device_put(jnp.ones((2, 3)), Format(Layout((1, 0)), place))
    with pytest.raises(ValueError, match="concrete"):
        effax.device_put(jnp.ones((2, 3)), Format(Layout.AUTO, place))
    with pytest.raises(ValueError, match="sharding must be given"):
        Format(Layout((0, 1)))


def test_array_like_is_what_functions_take():
    assert all(
        isinstance(x, ArrayLike) for x in (1.0, True, np.float32(1), np.ones(2), jnp.ones(2))
    )
    assert not any(isinstance(x, ArrayLike) for x in ("a", [1.0], np.str_("a"), None))


@pytest.mark.parametrize("call", [effax.pure_callback, effax.experimental.io_callback])
def test_an_eager_callback_fails_as_a_compiled_one(call):
    def fails(x):
        raise KeyError("lost")

    with pytest.raises(effax.errors.JaxRuntimeError, match="lost") as caught:
        call(fails, effax.ShapeDtypeStruct((), "float32"), 1.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_trees_are_close_within_bounds_by_dtype():
    tree = {"x": np.ones(2, np.float32), "n": 3}
    check_close(tree, {"x": np.ones(2, np.float32) * (1 + 5e-7), "n": 3})
    other = {"x": np.full(2, 1.01, np.float32), "n": 3}
    check_close(tree, other, atol=0.1)
    check_close(tree, other, rtol={"float32": 0.1, "float64": 0.0})
    for wrong in ({"x": tree["x"], "n": 4}, other):
        with pytest.raises(AssertionError):
            check_close(tree, wrong, rtol={"float64": 1.0})


class Rows:
    """Rows of numbers, by their lists' axis, with a name that all share."""

    def __init__(self, data, name):
        self.data, self.name = data, name


def test_a_library_says_how_its_type_is_mapped():
    batching.register_vmappable(
        Rows,
        int,
        int,
        lambda cont, _, x, axis: Rows(cont(x.data, axis), x.name),
        lambda cont, size, x, axis: Rows(cont(size, x.data, axis), x.name),
        None,
    )
    try:
        x = Rows(jnp.arange(6.0).reshape(3, 2), "a")
        double = effax.vmap(lambda r, y: [Rows(2 * r.data.sum() + y, r.name)], axis_size=3)
        (found,) = double(x, jnp.ones(3))
        assert found.name == "a" and found.data.tolist() == [3.0, 11.0, 19.0]
        across = effax.vmap(lambda r: r, in_axes=1, out_axes=1, axis_size=2)(x)
        assert across.data.tolist() == x.data.tolist()
        alone = effax.vmap(lambda r, y: y + r.data[0], in_axes=(None, 0))(x, jnp.ones(4))
        assert alone.shape == (4, 2)
    finally:
        batching.unregister_vmappable(Rows)
    with pytest.raises((TypeError, ValueError)):
        effax.vmap(lambda r: r.data)(x)


def test_a_reference_says_where_its_memory_is():
    reference = effax.new_ref(jnp.arange(3.0))
    assert reference.unsafe_buffer_pointer() == reference.unsafe_buffer_pointer() > 0


class Noted:
    """A node of trees that notes under which transforms it is taken apart and made."""

    notes = ()

    def __init__(self, x):
        self.x = x


def _note(what, result):
    Noted.notes = (*Noted.notes, (what, innermost()))
    return result


effax.tree_util.register_pytree_node(
    Noted,
    lambda n: _note("apart", ((n.x,), None)),
    lambda _, c: _note("made", Noted(*c)),
)


@pytest.mark.parametrize(
    "call",
    [
        lambda f, n: effax.vmap(f)(n),
        lambda f, n: effax.vmap(f, in_axes=None, axis_size=2)(n),
        lambda f, n: effax.jit(f)(n),
        lambda f, n: effax.vjp(f, n),
        lambda f, n: effax.jvp(f, (n,), (n,)),
        lambda f, n: effax.checkpoint(f)(n),
        lambda f, n: effax.lax.scan(lambda c, _: (f(c), None), n, length=2),
        lambda f, n: effax.lax.map(f, n),
        lambda f, n: effax.lax.cond(True, f, f, n),
    ],
)
def test_arguments_are_made_and_results_taken_apart_under_the_transform(call):
    # flax.nnx refuses to change what was made under other transforms than the present ones.
    outside, inside = innermost(), []

    def f(n):
        inside.append(innermost())
        return Noted(n.x * 2.0)

    Noted.notes = ()
    call(f, Noted(jnp.ones(3)))
    notes = Noted.notes
    assert inside[0] is not outside
    assert ("made", inside[0]) in notes
    assert notes[-1] == ("made", outside)
    middle = [state for what, state in notes if what == "apart" and state != outside]
    assert middle  # a result is taken apart under the transform


def test_names_and_numbers_of_static_arguments_do_not_complete_each_other():
    # flax.linen.jit names an argument after the function that it wraps, whose others are shifted.
    def wrapped(scope, x, b): ...

    @functools.partial(effax.jit, static_argnums=(), static_argnames=["b"])
    @functools.wraps(wrapped)
    def f(scope, groups, extra, **keywords):
        return extra["x"] * len(keywords["b"])

    assert f(1.0, 2.0, {"x": 3.0}, b="hi") == 6.0

    @functools.partial(effax.jit, static_argnums=0, static_argnames="c")
    def g(a, b, c):
        return type(a), type(c)

    with pytest.raises(TypeError, match="type"):
        g(1, 2, 3)
    assert effax.jit(lambda a, b: b * len(a), static_argnames="a")("xyz", 2.0) == 6.0


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_the_generator_of_a_dtype_of_keys_wraps_words(impl):
    key = effax.random.key(0, impl=impl)
    words = effax.random.key_data(key)
    assert effax.random.wrap_key_data(words, impl=key.dtype._impl).dtype == key.dtype  # Orbax


def test_scalar_types_can_be_derived_from():
    class Kind(jnp.int8):  # jumanji's StepType
        FIRST = 0

    assert issubclass(Kind, jnp.int8)
    assert Kind(3).dtype == jnp.int8
    assert Kind == jnp.int8 == np.int8 != jnp.int16
    assert jnp.zeros(2, Kind).dtype == np.dtype(Kind) == "int8"
    assert isinstance(np.int8(1), Kind)
    assert Kind.FIRST == 0


def test_effects_of_jaxs_names_take_python_numbers():
    assert effax.lax.add_p.bind(1, 2) == 3
    assert effax.lax.sin_p.bind(0.0) == 0.0


def test_calls_with_rules_are_made_of_subfunctions():
    # equinox's finalise_jaxpr calls the first of them in the call's place.
    @effax.custom_jvp
    def f(x):
        return x * 2.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 10.0))

    @effax.custom_vjp
    def g(x):
        return x * 2.0

    g.defvjp(lambda x: (g(x), x), lambda x, ct: (ct * x * 10.0,))
    for function, given, expected in [
        (f, (3.0, 1.0), [6.0, 10.0]),
        (g, (3.0,), [3.0, 6.0]),
    ]:
        (equation,) = effax.make_jaxpr(function)(3.0).eqns
        params = equation.primitive.get_bind_params(equation.params)
        body, rule = params["subfuns"]
        assert body.call_wrapped(jnp.float32(3.0)) == [6.0]
        assert rule.call_wrapped(*map(jnp.float32, given)) == expected
        again = effax.grad(lambda x, e=equation, p=params: e.primitive.bind(x, **p)[0])
        assert again(3.0) == effax.grad(function)(3.0) != 2.0


class Pair(NamedTuple):
    """Two arrays, as libraries return them."""

    a: ArrayLike
    b: ArrayLike


def swapped_sums(x, y):
    """A function on pairs that returns a plain tuple."""
    return x[0] + y[0], x[1] + y[1]


def test_associative_scan_takes_a_function_that_returns_another_tree():
    found = effax.lax.associative_scan(swapped_sums, Pair(jnp.ones(3), jnp.arange(3.0)))
    assert isinstance(found, Pair)
    assert found.a.tolist() == [1, 2, 3] and found.b.tolist() == [0, 1, 3]
    with pytest.raises(ValueError, match="as many arrays"):
        effax.lax.associative_scan(lambda x, y: x[0] + y[0], Pair(jnp.ones(3), jnp.ones(3)))


def test_reduce_returns_the_tree_of_its_computation():
    xs, zeros = Pair(jnp.ones(3), jnp.arange(3.0)), Pair(jnp.float32(0), jnp.float32(0))
    found = effax.lax.reduce(xs, zeros, swapped_sums, (0,))
    assert type(found) is tuple and found == (3, 3)
    with pytest.raises(ValueError, match="tree structure"):
        effax.lax.reduce(xs, zeros, lambda x, y: x[0] + y[0], (0,))


def test_reshape_of_a_numpy_array_can_be_read_while_tracing():
    def positive(x):
        # NumPyro's constraints reshape a NumPy array, and then ask for its values.
        assert np.all(jnp.reshape(np.ones(4), (2, 2)).all(-1))
        return x

    assert effax.jit(positive)(1.0) == 1.0
    assert type(jnp.reshape(np.ones(4), (2, 2), order="F")) is np.ndarray
    assert isinstance(jnp.reshape(2.0, (1, 1)), effax.Array)
    assert isinstance(jnp.ravel(np.ones((2, 2))), effax.Array)
    assert isinstance(jnp.column_stack([np.ones(2), np.ones(2)]), effax.Array)


def test_a_known_shape_as_a_value_is_a_numpy_array():
    assert effax.jit(lambda x: x * int(effax.lax.shape_as_value((2, 3))[0]))(1.0) == 2.0


@pytest.mark.parametrize("x", [3, np.int32(3), np.arange(3), np.float64(3.0)])
def test_stop_gradient_makes_arrays(x):
    stopped = effax.lax.stop_gradient(x)
    assert isinstance(stopped, effax.Array) and np.array_equal(stopped, x)
