"""Hugging Face's Flax models, with random weights: BERT trains, GPT-2 and Whisper write, ViT looks.

The numbers and words compared with are those of JAX 0.10.2.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from transformers import (
    BertConfig,
    FlaxBertForSequenceClassification,
    FlaxGPT2LMHeadModel,
    FlaxViTForImageClassification,
    FlaxWhisperForConditionalGeneration,
    GPT2Config,
    ViTConfig,
    WhisperConfig,
)

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
words = np.random.RandomState(0).randint(0, 100, (4, 16))
pixels, spectra = (np.random.RandomState(1).rand(2, *s).astype("f") for s in ((3, 32, 32), (8, 40)))

bert = FlaxBertForSequenceClassification(
    BertConfig(**SIZES, intermediate_size=64, vocab_size=100), seed=0
)
optimizer = optax.adamw(1e-3)


@jax.jit
def step(params, moments, key):
    def loss(params):
        logits = bert(words, params=params, dropout_rng=key, train=True).logits
        labels = jnp.array([0, 1, 0, 1])
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    value, grads = jax.value_and_grad(loss)(params)
    updates, moments = optimizer.update(grads, moments, params)
    return optax.apply_updates(params, updates), moments, value


params, key, losses = bert.params, jax.random.PRNGKey(0), []
moments = optimizer.init(params)
for _ in range(3):
    key, own = jax.random.split(key)
    params, moments, value = step(params, moments, own)
    losses.append(float(value))
np.testing.assert_allclose(losses, [0.7346289, 0.6974652, 0.6511141], rtol=1e-4)

gpt = FlaxGPT2LMHeadModel(
    GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100, n_positions=64), seed=0
)


def written(**how):
    begun = words[:2, :5]
    found = gpt.generate(begun, max_length=14, pad_token_id=0, eos_token_id=99, **how)
    return np.asarray(found.sequences)[:, 5:].tolist()


drawn = {"do_sample": True, "top_k": 10, "top_p": 0.9, "prng_key": jax.random.PRNGKey(1)}
assert written(do_sample=False) == [[67, 67, *[93] * 7], [0] * 9]
assert written(**drawn) == [
    [67, 27, 15, 15, 82, 41, 44, 44, 6],
    [81, 54, 60, 73, 85, 85, 35, 35, 85],
]
assert written(num_beams=3) == [[58] * 9, [0] * 9]

vit = FlaxViTForImageClassification(
    ViTConfig(**SIZES, intermediate_size=64, image_size=32, patch_size=8), seed=0
)
seen = [[-0.00199144, 0.03398124], [-0.00197102, 0.03390501]]
np.testing.assert_allclose(vit(pixels).logits, seen, atol=1e-5)

sides = {"layers": 2, "attention_heads": 2, "ffn_dim": 64}
config = WhisperConfig(
    **{f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in sides.items()},
    **{"vocab_size": 100, "d_model": 32, "num_mel_bins": 8},
    **{"max_source_positions": 20, "max_target_positions": 30},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3},
    **{"begin_suppress_tokens": None, "suppress_tokens": None},
)
whisper = FlaxWhisperForConditionalGeneration(config, seed=0, input_shape=(1, 8, 40))
logits = whisper(spectra, decoder_input_ids=words[:2, :4]).logits
heard = [[-0.5010265, 0.7210820], [-0.5304402, -0.1528752]]
np.testing.assert_allclose(logits[:, -1, :2], heard, atol=1e-5)
assert whisper.generate(spectra, max_length=8).sequences.tolist() == [[3] * 8] * 2
