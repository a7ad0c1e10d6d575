"""`debug_key_reuse`: keys used twice, as JAX 0.10.2 finds them; and what it lets pass."""

import pytest

import effax
import effax.numpy as jnp
from effax import random
from effax.errors import KeyReuseError
from tests.samples.calls import calls, environment


def twice():
    key = random.key(0)
    random.normal(key)
    random.uniform(key)


def used_after_split():
    key = random.key(0)
    random.split(key)
    random.normal(key)


def twice_into_jit():
    key, f = random.key(0), effax.jit(random.normal)
    f(key)
    f(key)


def twice_in_jit():
    effax.jit(lambda key: random.normal(key) + random.normal(key))(random.key(0))


def one_of_many():
    keys = random.split(random.key(0))
    random.normal(keys[0])
    random.normal(keys[1])
    random.normal(keys[0])


def a_batch_twice():
    keys, f = random.split(random.key(0), 3), effax.vmap(random.normal)
    f(keys)
    f(keys)


def after_grad():
    key = random.key(0)
    effax.grad(lambda x, key: x * random.normal(key))(1.0, key)
    random.normal(key)


def split_in_jit():
    key, f = random.key(0), effax.jit(random.split)
    one, other = f(key)
    random.normal(one), random.normal(other)
    f(key)


def a_part_and_the_whole():
    keys = random.split(random.key(0))
    random.normal(keys[0])
    effax.vmap(random.normal)(keys)


def in_each_step_of_a_scan():
    key = random.key(0)
    effax.lax.scan(lambda c, _: (c + random.normal(key), None), 0.0, None, length=3)


def in_each_step_of_a_while():
    key = random.key(0)
    effax.lax.while_loop(lambda c: c < 3, lambda c: c + 1 + 0 * random.normal(key), 0.0)


def in_each_step_of_a_fori_loop():
    key = random.key(0)
    effax.jit(lambda: effax.lax.fori_loop(0, 3, lambda i, c: c + random.normal(key), 0.0))()


def handed_on_by_each_step():
    effax.lax.scan(lambda key, _: (key, random.normal(key)), random.key(0), None, length=3)


def after_a_branch():
    key = random.key(0)
    effax.lax.cond(True, lambda: random.normal(key), lambda: random.uniform(key))
    random.normal(key)


def in_either_branch():
    key = random.key(0)
    effax.lax.cond(True, lambda: random.normal(key), lambda: random.uniform(key))


def folded_in_each_step():
    key = random.key(0)
    effax.lax.fori_loop(0, 3, lambda i, c: c + random.normal(random.fold_in(key, i)), 0.0)


def parts():
    one, other = random.split(random.key(0))
    random.normal(one), random.normal(other)


def clones_and_numbers():
    key = random.key(0)
    random.normal(random.clone(key))
    random.fold_in(key, 1), random.key_data(key)
    random.normal(key)


def old_keys():
    key = random.PRNGKey(0)
    random.normal(key), random.normal(key)


def carried_through_a_loop():
    def body(key, _):
        key, now = random.split(key)
        return key, random.normal(now)

    effax.lax.scan(body, random.key(0), None, length=3)


def new_each_time():
    for _ in range(3):
        effax.jit(random.normal)(random.key(0))


def every_distribution():
    arguments = {
        random.gamma: (1.0,),
        random.beta: (1.0, 2.0),
        random.permutation: (3,),
        random.t: (2.0,),
        random.dirichlet: (jnp.ones(2),),
        random.choice: (3,),
        random.poisson: (2.0,),
        random.orthogonal: (2,),
        random.ball: (2,),
        random.multivariate_normal: (jnp.ones(2), jnp.eye(2)),
        random.categorical: (jnp.ones(3),),
        random.truncated_normal: (-1.0, 1.0),
        random.bernoulli: (),
        random.bits: (),
    }
    for function, args in arguments.items():
        effax.make_jaxpr(lambda f=function, args=args: f(random.key(0), *args))()


REUSED = (
    *(twice, used_after_split, twice_into_jit, twice_in_jit, one_of_many, a_batch_twice),
    *(after_grad, split_in_jit, a_part_and_the_whole, after_a_branch),
)
REPEATED = (
    *(in_each_step_of_a_scan, in_each_step_of_a_while, in_each_step_of_a_fori_loop),
    handed_on_by_each_step,
)
FINE = (
    *(parts, clones_and_numbers, old_keys, carried_through_a_loop, new_each_time),
    *(every_distribution, in_either_branch, folded_in_each_step),
)


@pytest.mark.parametrize("program", REUSED)
def test_reuse_is_found(program):
    program()
    with effax.debug_key_reuse(True), pytest.raises(KeyReuseError) as caught:
        program()
    message = str(caught.value)
    assert message.count("test_key_reuse.py:") == 2, "both places"
    assert "random.split(key)" in message and "random.clone(key)" in message


@pytest.mark.parametrize("program", REPEATED)
def test_use_in_each_step_is_found(program):
    program()
    with effax.debug_key_reuse(True), pytest.raises(KeyReuseError, match=r"each step.*fold_in"):
        program()


@pytest.mark.parametrize("program", FINE)
def test_proper_use_passes(program):
    with effax.debug_key_reuse(True):
        program()
        program()


KEEPING = ("clone", "fold_in", "key_data", "key_impl")
DRAWS = [text for name, text in calls("random") if "(KEY" in text and name not in KEEPING]


@pytest.mark.parametrize("text", DRAWS)
def test_each_sampler_uses_its_key_once(text):
    """Drawing is one use, whatever a sampler is made of; drawing again is found."""
    variables = environment("random")

    def draw(key):
        return eval(text, {**variables, "KEY": key})

    with effax.debug_key_reuse(True):
        effax.make_program(draw)(random.key(0))
        with pytest.raises(KeyReuseError, match="was used before"):
            effax.make_program(lambda key: (draw(key), draw(key)))(random.key(0))
