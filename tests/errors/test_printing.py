"""Values print as what a user knows of them: type, transform, and elements where there are some."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from examples.transforms.interval import Interval


def printed(transform, *args):
    """The texts of an argument, and of twice it, inside of a function that is transformed."""
    texts = []

    def function(x):
        texts.extend([repr(x), str(2 * x)])
        return jnp.sum(jnp.sin(x))

    transform(function)(*args)
    return texts


TEXTS = {
    "grad": (effax.grad, (3.0,), "f32[]> of grad, with value 3.0", "value 6.0"),
    "grad of a vector": (effax.grad, (jnp.ones(2),), "f32[2]> of grad, with value [1. 1.]", "[2. 2.]"),
    "vjp": (lambda f: lambda x: effax.vjp(f, x), (3.0,), "f32[]> of grad, with value 3.0", "6.0"),
    "jvp": (
        lambda f: lambda x: effax.jvp(f, (x,), (x,)), (3.0,),
        "f32[]> of jvp, with value 3.0 and tangent 3.0", "value 6.0 and tangent 6.0",
    ),
    "vmap": (effax.vmap, (jnp.arange(3.0),), "f32[]> of vmap, with lanes [0. 1. 2.]", "[0. 2. 4.]"),
    "jit": (effax.jit, (1.0,), "f32[]> of jit", "f32[]> of jit"),
    "grad of grad": (
        lambda f: effax.grad(effax.grad(f)), (1.0,),
        "f32[]> of grad, with value (Traced<f32[]> of grad, with value 1.0)", "value 2.0)",
    ),
    "jit of vmap": (
        lambda f: effax.jit(effax.vmap(f)), (jnp.ones(2),),
        "f32[]> of vmap, with lanes (Traced<f32[2]> of jit)", "of jit)",
    ),
    "scan": (
        lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1), (1.0,),
        "f32[]> of scan", "f32[]> of scan",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_under_a_transform(name):
    transform, args, before, after = TEXTS[name]
    first, second = printed(transform, *args)[:2]
    assert first == f"Traced<{before}"
    assert second.endswith(after)


def test_a_piece_of_shard_map_says_where_it_varies():
    mesh = effax.make_mesh((1,), ("i",), devices=effax.devices()[:1])
    spec = effax.sharding.PartitionSpec("i")
    shard_map = lambda f: effax.shard_map(  # noqa: E731
        lambda x: jnp.reshape(f(x), 1), mesh=mesh, in_specs=spec, out_specs=spec
    )
    assert printed(shard_map, jnp.ones(2))[0] == "Traced<f32[2]{V:i}> of shard_map"


def test_a_users_interpreter_has_it_for_nothing():
    bounds = Interval.transform
    given = Interval(jnp.float32(1), jnp.float32(2))
    texts = []
    bounds(lambda x: texts.append(repr(x)) or x)(given)
    assert texts == ["Traced<f32[]> of Interval, with lo 1.0 and hi 2.0"]


def test_printing_changes_no_gradient():
    """Elements of deferred effects are computed for the text only; the gradient stays deferred."""

    def quiet(x):
        return jnp.sum(jnp.sin(x) * x)

    def loud(x):
        y = jnp.sin(x)
        repr(x), repr(y), repr(y * x)
        return jnp.sum(y * x)

    x = jnp.linspace(0, 1, 5)
    for derivative in (effax.grad, effax.jacfwd, effax.hessian):
        np.testing.assert_array_equal(derivative(loud)(x), derivative(quiet)(x))


def test_a_value_that_outlived_its_transform_still_prints():
    kept = []
    effax.grad(lambda x: kept.append(x) or x)(1.0)
    assert repr(kept[0]) == "Traced<f32[]>"


def test_a_value_whose_array_was_deleted_still_prints():
    x = jnp.ones(3)
    texts = []

    def function(y):
        x.delete()
        texts.append(repr(y))
        return 1.0

    effax.vmap(function)(x)
    assert texts == ["Traced<f32[]> of vmap, with lanes (deleted)"]
