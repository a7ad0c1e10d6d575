"""The part of a function that depends on unknown arguments; keys among them."""

import numpy as np

import effax
import effax.numpy as jnp
from effax import random
from effax.extend.linear_util import wrap_init
from effax.interpreters import partial_eval as pe


def test_known_results_are_computed():
    f = wrap_init(lambda x, y: [x + y, jnp.sin(y), y])
    given = [
        pe.PartialVal.unknown(effax.core.ShapedArray((2,), "float32")),
        pe.PartialVal.known(2.0),
    ]
    program, outs, consts = pe.trace_to_jaxpr_nounits(f, given)
    assert [p.is_known() for p in outs] == [False, True, True]
    np.testing.assert_allclose(outs[1].get_known(), np.sin(2.0), rtol=1e-6)
    assert outs[0].get_aval().shape == (2,)
    np.testing.assert_array_equal(program.run(*consts, jnp.ones(2))[0], [3, 3])


def test_all_results_on_demand():
    f = wrap_init(lambda x: [x, 1.0])
    given = [pe.PartialVal.unknown(effax.core.ShapedArray((), "float32"))]
    program, outs, _ = pe.trace_to_jaxpr_nounits(f, given, instantiate=True)
    assert len(program.outputs) == len(outs) == 2
    assert not any(p.is_known() for p in outs)


def test_keys_go_in_and_out():
    key = random.key(3)
    f = wrap_init(lambda k, own: [random.fold_in(k, 1), random.normal(own), random.fold_in(own, 1)])
    given = [pe.PartialVal.unknown(key.aval), pe.PartialVal.known(key)]
    _, (unknown, drawn, made), _ = pe.trace_to_jaxpr_nounits(f, given)
    assert unknown.get_aval() is key.aval
    np.testing.assert_array_equal(drawn.get_known(), random.normal(key))
    np.testing.assert_array_equal(
        random.key_data(made.get_known()), random.key_data(random.fold_in(key, 1))
    )


def test_what_stands_for_keys():
    key = random.key(0)
    stand_in = effax.ShapeDtypeStruct((3,), key.dtype)
    assert (stand_in.shape, stand_in.dtype) == ((3,), key.dtype)
    assert repr(stand_in) == "ShapeDtypeStruct(shape=(3,), dtype=key<fry>)"
    drawn = effax.eval_shape(lambda k: effax.vmap(random.normal)(k), stand_in)
    assert drawn.shape == (3,)
    assert effax.eval_shape(lambda k: random.split(k[0], 5), stand_in).shape == (5,)
    effax.jit(lambda k: random.normal(k[0])).lower(stand_in).compile()
