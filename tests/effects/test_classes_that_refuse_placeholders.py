"""Pytree classes that read their children while they are made, or sort them while they are flattened.

Programs with them run as any others (JAX's too: only its own transforms' placeholders reach them),
and messages number their children where names can't be asked for.
"""

import attrs
import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects.leaf_paths import leaf_paths
from effax.effects.tree import keystr


class Measured:
    """Reads the number of axes of its child."""

    def __init__(self, x):
        self.x, self.ndim = x, x.ndim


class Sorted:
    """Has its child among the leaves only where that is an array."""

    def __init__(self, x):
        self.x = x


@attrs.define
class Named:
    """Has keys of its own."""

    x: effax.Array


effax.tree_util.register_pytree_node(Measured, lambda m: ((m.x,), None), lambda _, c: Measured(*c))
effax.tree_util.register_pytree_node(
    Sorted,
    lambda s: ([s.x], None) if isinstance(s.x, effax.Array) else ([], (s.x,)),
    lambda known, c: Sorted(*(known or c)),
)
effax.tree_util.register_dataclass(Named, ["x"], [])

KINDS = [Measured, Sorted, Named]


@pytest.mark.parametrize("kind", KINDS)
def test_a_jitted_function_is_traced_again(kind):
    double = effax.jit(lambda held: held.x * 2)
    for n in (2, 3):
        np.testing.assert_array_equal(double(kind(jnp.ones(n))), np.full(n, 2.0))


@pytest.mark.parametrize("kind", KINDS)
def test_messages_name_their_children(kind):
    name = r"held\.x" if kind is Named else r"held\[<flat index 0>\]"
    with pytest.raises(effax.errors.TracerBoolConversionError, match=name):
        effax.jit(lambda held: 1 if held.x else 2)(kind(jnp.ones(())))
    with pytest.raises(TypeError, match=name):
        effax.jit(lambda held: held.x).lower(kind(jnp.ones(2))).compile()(kind(jnp.ones(3)))


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_carried_donated_and_differentiated(kind):
    one = kind(jnp.ones(()))
    np.testing.assert_array_equal(
        lax.scan(lambda held, _: (kind(held.x * 2), held.x), one, length=3)[1], [1, 2, 4]
    )
    assert float(effax.grad(lambda held: held.x**2)(one).x) == 2
    assert float(effax.jit(lambda held: held.x + 1, donate_argnums=0)(kind(jnp.ones(())))) == 2


def test_paths_of_a_structure_are_those_of_a_tree():
    tree = {"b": (1, None, [2]), "a": Named(3)}
    pairs, structure = effax.tree_util.tree_flatten_with_path(tree)
    assert list(map(keystr, leaf_paths(structure))) == [keystr(path) for path, _ in pairs]
