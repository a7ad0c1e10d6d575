"""Parts of references, `ref.at[i]`, and references themselves, as arguments of transforms."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import lax
from effax.effects.errors import RefError

TRANSFORMS = {
    "jit": effax.jit,
    "remat": effax.remat,
    "cond": lambda f: lambda *args: lax.cond(jnp.array(True), f, f, *args),
    "jit of remat": lambda f: effax.jit(effax.remat(f)),
}


def _add(part):
    part[...] += 1.0


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("outer", [lambda f: f, effax.jit])
def test_a_part_is_read_and_written_inside(name, outer):
    def f(i):
        ref = effax.new_ref(jnp.arange(10.0))
        before = TRANSFORMS[name](lambda part: part[...])(ref.at[2:7])
        TRANSFORMS[name](_add)(ref.at[2:7])
        TRANSFORMS[name](_add)(ref.at[3:5].at[i])  # an index that is traced
        TRANSFORMS[name](_add)(ref.at[[8, 9]])
        return before, ref[...]

    before, after = outer(f)(jnp.int32(1))
    assert before.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert after.tolist() == [0.0, 1.0, 3.0, 4.0, 6.0, 6.0, 7.0, 7.0, 9.0, 10.0]


def test_another_part_is_another_program():
    f = effax.jit(lambda part: part[...])
    ref = effax.new_ref(jnp.arange(4.0).reshape(2, 2))
    found = [f(ref.at[i]).tolist() for i in (0, 1, True, slice(0, 1), (1, 1), None)]
    assert found == [
        [0.0, 1.0],
        [2.0, 3.0],
        [[[0.0, 1.0], [2.0, 3.0]]],
        [[0.0, 1.0]],
        3.0,
        [[0.0, 1.0], [2.0, 3.0]],
    ]


def test_parts_are_not_mapped_over():
    ref = effax.new_ref(jnp.zeros((3, 4)))
    with pytest.raises(TypeError, match="TransformedRefs are not allowed"):
        effax.vmap(_add)(ref.at[0])
    with pytest.raises(TypeError, match="TransformedRefs are not allowed"):
        lax.scan(lambda c, row: (c, None), 0, ref.at[:, 0])


def _same(ref):
    return ref


@pytest.mark.parametrize("wrap", [lambda f: f, effax.jit])
def test_what_a_rule_is_given_and_returns(wrap):
    """Called with nothing to differentiate, the function itself was run, and nobody looked."""
    two, same = effax.custom_vjp(lambda a, b: 0.0), effax.custom_vjp(_same)
    for f in (two, same):
        f.defvjp(lambda *refs: (0.0, None), lambda *_: None)
    ref = effax.new_ref(0.0)
    with pytest.raises(RefError, match="only one reference to a mutable array may be passed"):
        wrap(two)(ref, ref)
    with pytest.raises(RefError, match="returned a mutable array reference"):
        wrap(same)(ref)


def test_vmap_takes_a_reference_once():
    ref = effax.new_ref(jnp.zeros((3, 3)))
    with pytest.raises(RefError, match="only one reference to a mutable array may be passed"):
        effax.vmap(lambda a, b: None)(ref, ref)


@pytest.mark.parametrize("wrap", [lambda f: f, effax.remat, effax.jit])
def test_no_derivative_is_left_in_a_reference_made_outside(wrap):
    """The first gradient of a function wrote its dual number there."""

    @wrap
    def f(y, ref):
        out = y * y
        ref[...] += out
        return out

    for x in (2.0, jnp.array(2.0)):
        ref = effax.new_ref(1.0)
        with pytest.raises(RefError, match="set operation with a differentiated value"):
            effax.grad(f)(x, ref)
        assert float(ref[...]) == 1.0


def test_unravelling_keeps_the_dtype_of_the_vector():
    flat, unravel = effax.flatten_util.ravel_pytree((jnp.ones(2), jnp.zeros(())))
    assert [x.dtype for x in unravel(flat < 0.5)] == [bool, bool]
    mixed = effax.flatten_util.ravel_pytree((jnp.ones(2), jnp.zeros((), "int32")))[1]
    with pytest.raises(TypeError, match="but expected dtype float32"):
        mixed(np.zeros(3, bool))


def test_what_traced_a_returned_reference_and_where_it_is_from():
    def made(x):
        return effax.new_ref(x)

    created = r"\n\n.*was created on line \d+ of .*test_parts\.py"
    asked = {
        "jit": lambda: effax.jit(made)(1.0),
        "scan": lambda: effax.lax.scan(lambda c, x: (made(c), x), 0.0, jnp.arange(3)),
        "cond": lambda: effax.lax.cond(True, made, made, 1.0),
        "while_loop": lambda: effax.lax.while_loop(lambda c: True, made, 1.0),
    }
    for what, call in asked.items():
        with pytest.raises(
            RefError, match=rf"traced for {what} returned a mutable array.*{created}"
        ):
            call()
    ref = effax.new_ref(jnp.arange(3.0))
    with pytest.raises(RefError, match="appeared at both one and two"):
        effax.vjp(effax.jit(lambda one, two: 0.0), ref, ref)
    for what, call in (
        ("jit", lambda: effax.jit(lambda n, given: {"a": given["x"]})(1, {"x": ref})),
        (
            "cond",
            lambda: effax.lax.cond(True, lambda given: given["x"], lambda given: 1.0, {"x": ref}),
        ),
    ):
        words = rf"traced for {what} returned.*\n\n.*was passed in as the argument given\['x'\]"
        with pytest.raises(RefError, match=words):
            call()
