"""Settings as flags of absl, as a program with `absl.app` has them."""

import sys

import jax
import jax.numpy as jnp
from absl import app

sys.argv += ["--jax_enable_x64", "--jax_default_matmul_precision=float32", "--nojax_disable_jit"]
jax.config.parse_flags_with_absl()
assert jax.config.jax_enable_x64 and jax.config.jax_default_matmul_precision == "float32"
assert jnp.zeros(1).dtype == "float64"


def main(argv):
    assert argv[1:] == ["train"]
    assert jax.config.jax_debug_nans and jax.config.jax_enable_x64


sys.argv += ["--jax_debug_nans=True", "train"]
app.run(main)
