"""Axes, shapes and positions may be any iterable, also one that can be walked once."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax

X = jnp.arange(6.0).reshape(2, 3)
FORMS = {
    "generator": lambda *numbers: (n for n in numbers),
    "map": lambda *numbers: map(int, numbers),
    "keys": lambda *numbers: dict.fromkeys(numbers).keys(),
    "array": lambda *numbers: np.array(numbers),
    "range": lambda first, last: range(first, 2 * last - first, last - first),
}
FUNCTIONS = {
    "any": (lambda axes: jnp.any(X > 4, axis=axes), (0, 1)),
    "expand_dims": (lambda axes: jnp.expand_dims(X, axes), (0, 1)),
    "flip": (lambda axes: jnp.flip(X, axes), (0, 1)),
    "lax.squeeze": (lambda axes: lax.squeeze(X[None, None], axes), (0, 1)),
    "moveaxis": (lambda axes: jnp.moveaxis(X, axes, (1, 0)), (0, 1)),
    "ptp": (lambda axes: jnp.ptp(X, axis=axes), (0, 1)),
    "roll": (lambda axes: jnp.roll(X, (1, 2), axes), (0, 1)),
    "rot90": (lambda axes: jnp.rot90(X, axes=axes), (1, 0)),
    "softmax": (lambda axes: effax.nn.softmax(X, axes), (0, 1)),
    "squeeze": (lambda axes: X[None, None].squeeze(axes), (0, 1)),
    "std": (lambda axes: jnp.std(X, axis=axes), (0, 1)),
    "sum": (lambda axes: X.sum(axes), (0, 1)),
    "image.resize": (lambda shape: effax.image.resize(X, shape, "nearest"), (1, 2)),
    "reshape": (lambda shape: jnp.reshape(X.ravel()[:2], shape), (1, 2)),
    "resize": (lambda shape: jnp.resize(X, shape), (2, 1)),
    "roll by": (lambda shift: jnp.roll(X, shift, (0, 1)), (1, 2)),
    "tile": (lambda reps: jnp.tile(X, reps), (2, 1)),
    "unravel_index": (lambda shape: jnp.unravel_index(1, shape), (2, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_in_any_iterable_are_those_in_a_tuple(name, form):
    function, numbers = FUNCTIONS[name]
    expected, found = function(numbers), function(FORMS[form](*numbers))
    for a, b in zip(effax.tree.leaves(expected), effax.tree.leaves(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    traced = effax.jit(lambda: function(FORMS[form](*numbers)))()
    assert effax.tree.map(jnp.shape, traced) == effax.tree.map(jnp.shape, expected)


def test_an_iterator_that_was_walked_is_not_found_again():
    axes = iter([0, 1])
    assert X.sum(axes) == 15
    assert X.sum(axes).shape == (2, 3)  # of no axes


def test_an_iterator_under_a_batch():
    mapped = effax.vmap(lambda x: x.sum(i for i in (0, 1)))(jnp.ones((4, 2, 3)))
    np.testing.assert_array_equal(mapped, np.full(4, 6.0))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("transform", [effax.grad, effax.jacfwd, effax.jacrev, effax.hessian])
def test_positions_of_several_arguments_give_a_tuple(transform, form):
    found = transform(lambda x, y: x * y, argnums=FORMS[form](0, 1))(2.0, 3.0)
    assert isinstance(found, tuple)
    assert len(found) == 2


@pytest.mark.parametrize("transform", [effax.grad, effax.jacfwd, effax.jacrev])
def test_a_position_may_be_numpys_integer(transform):
    assert transform(lambda x, y: x * y, argnums=np.int64(1))(2.0, 3.0) == 2.0
    jitted = effax.jit(lambda x, n: x * n, static_argnums=np.int64(1))
    assert jitted(2.0, 3) == 6.0


def test_rows_to_choose_from_an_iterator():
    rows = iter([jnp.array([1, 2]), jnp.array([3, 4])])
    assert jnp.choose(jnp.array([1, 0]), rows).tolist() == [3, 2]
