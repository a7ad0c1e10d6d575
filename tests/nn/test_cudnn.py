"""Attention by cuDNN: what is written for a GPU, and what is refused."""

import json
import re

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax import nn
from effax.errors import UnhandledEffectError
from tests.accelerators.test_topologies import needs_compilers, on

Q = jnp.ones((2, 16, 8, 64), "bfloat16")
KV = jnp.ones((2, 32, 2, 64), "bfloat16")


def attention(*args, **options):
    return nn.dot_product_attention(*args, implementation="cudnn", **options)


def squares(*args, **options):
    return (attention(*args, **options).astype("float32") ** 2).sum()


def calls(f, *args):
    """The names of cuDNN's calls in a function's program, and their configurations."""
    program = effax.make_program(f)(*args)
    found = [
        (name, json.loads(config)["cudnn_fmha_backend_config"])
        for name, config in _targets(program)
    ]
    return [name.removeprefix("__cudnn$fmha") for name, _ in found], [c for _, c in found]


def _targets(program):
    for e in program.equations:
        for value in e.attributes.values():
            if getattr(value, "name", "").startswith("__cudnn$"):
                yield value.name, value.config
            for inner in value if isinstance(value, tuple) else [value]:
                if hasattr(inner, "equations"):
                    yield from _targets(inner)


@pytest.mark.cpu
def test_elsewhere_it_is_refused_by_name():
    with pytest.raises(UnhandledEffectError, match="kernel of cuDNN, which the platform 'cpu'"):
        effax.jit(attention)(Q, KV, KV)


@pytest.mark.parametrize(
    "q, words",
    [
        (Q.astype("float32"), "bfloat16 or float16, got float32"),
        (Q[..., :60], "multiple of 8 and at most 256, got 60"),
        (jnp.ones((1, 2, 1, 264), "float16"), "at most 256, got 264"),
    ],
)
def test_operands_without_a_kernel_are_refused(q, words):
    with pytest.raises(NotImplementedError, match=re.escape(words)):
        effax.eval_shape(attention, q, q, q)


def test_a_window_after_the_query_needs_a_causal_mask():
    with pytest.raises(ValueError, match="no window after a query's own place"):
        effax.eval_shape(lambda q: attention(q, q, q, local_window_size=(4, 4)), Q)


@pytest.mark.parametrize(
    "options, mask, window",
    [
        ({}, "NO_MASK", 0),
        ({"is_causal": True}, "CAUSAL", 0),
        ({"is_causal": True, "local_window_size": 5}, "CAUSAL", 6),
        ({"key_value_seq_lengths": np.array([3, 4], "int32")}, "PADDING", 0),
        (
            {"is_causal": True, "query_seq_lengths": np.array([3, 4], "int32")},
            "PADDING_CAUSAL",
            0,
        ),
    ],
)
def test_the_configuration_of_a_kernel(options, mask, window):
    names, configs = calls(lambda q, k, v: attention(q, k, v, **options), Q, KV, KV)
    assert names == ["Softmax"]
    (config,) = configs
    assert config["mask_type"] == mask
    assert config["sliding_window_length"] == window
    assert config["fmha_scale"] == 64**-0.5
    shape = config["intermediate_tensor_shape"]
    assert shape["dimensions"] == ["2", "8", "16", "32"]
    assert shape["element_type"] == "BF16"


def test_types_are_those_of_the_plain_form():
    for options in ({}, {"return_residual": True}):
        both = [
            effax.eval_shape(
                lambda q, k, v, how=how, options=options: nn.dot_product_attention(
                    q, k, v, implementation=how, **options
                ),
                Q,
                KV,
                KV,
            )
            for how in ("cudnn", "xla")
        ]
        assert both[0] == both[1]


def test_a_gradient_is_two_calls_and_a_batch_is_as_many():
    lanes = [jnp.stack([x] * 3) for x in (Q, KV, KV)]
    names, _ = calls(effax.grad(squares, (0, 1, 2)), Q, KV, KV)
    assert names == ["Softmax", "SoftmaxBackward"]
    f = effax.vmap(effax.grad(squares, (0, 1, 2)))
    names, configs = calls(f, *lanes)
    assert names == ["Softmax", "SoftmaxBackward"]
    assert configs[0]["intermediate_tensor_shape"]["dimensions"] == ["6", "8", "16", "32"]
    assert [x.shape for x in effax.eval_shape(f, *lanes)] == [x.shape for x in lanes]
    shared = effax.vmap(attention, in_axes=(0, None, None))
    assert effax.eval_shape(shared, lanes[0], KV, KV).shape == lanes[0].shape


@pytest.mark.parametrize("batch", [1, 2])
def test_a_bias_has_a_cotangent_of_its_shape(batch):
    bias = jnp.ones((batch, 8, 16, 32), "bfloat16")
    mask = jnp.ones((1, 1, 16, 32), bool)
    names, _ = calls(lambda q, k, v: attention(q, k, v, mask=mask), Q, KV, KV)
    assert names == ["ScaleBiasSoftmax"]
    slope = effax.grad(lambda b: squares(Q, KV, KV, b, mask))
    assert calls(slope, bias)[0] == ["ScaleBiasSoftmax", "ScaleBiasSoftmaxBackward"]
    assert effax.eval_shape(slope, bias).shape == bias.shape


@needs_compilers
def test_it_is_compiled_for_a_gpu():
    operands = [on("H200", *x.shape, dtype="bfloat16") for x in (Q, KV, KV)]
    compiled = effax.jit(effax.grad(squares, (0, 1, 2))).lower(*operands).compile()
    assert "__cudnn$fmhaSoftmaxBackward" in compiled.as_text()
