"""Building blocks of neural networks: activations, functions of whole axes, initial weights."""

from effax.effects.frames import cut_at as _cut_at
from effax.nn import initializers as initializers
from effax.nn.activations import celu as celu
from effax.nn.activations import elu as elu
from effax.nn.activations import gelu as gelu
from effax.nn.activations import glu as glu
from effax.nn.activations import hard_sigmoid as hard_sigmoid
from effax.nn.activations import hard_silu as hard_silu
from effax.nn.activations import hard_swish as hard_swish
from effax.nn.activations import hard_tanh as hard_tanh
from effax.nn.activations import identity as identity
from effax.nn.activations import leaky_relu as leaky_relu
from effax.nn.activations import log1mexp as log1mexp
from effax.nn.activations import log_sigmoid as log_sigmoid
from effax.nn.activations import mish as mish
from effax.nn.activations import relu as relu
from effax.nn.activations import relu6 as relu6
from effax.nn.activations import selu as selu
from effax.nn.activations import sigmoid as sigmoid
from effax.nn.activations import silu as silu
from effax.nn.activations import soft_sign as soft_sign
from effax.nn.activations import softplus as softplus
from effax.nn.activations import sparse_plus as sparse_plus
from effax.nn.activations import sparse_sigmoid as sparse_sigmoid
from effax.nn.activations import squareplus as squareplus
from effax.nn.activations import swish as swish
from effax.nn.activations import tanh as tanh
from effax.nn.attention import dot_product_attention as dot_product_attention
from effax.nn.functions import log_softmax as log_softmax
from effax.nn.functions import logmeanexp as logmeanexp
from effax.nn.functions import logsumexp as logsumexp
from effax.nn.functions import one_hot as one_hot
from effax.nn.functions import softmax as softmax
from effax.nn.functions import standardize as standardize
from effax.nn.scaled import get_scaled_dot_general_config as get_scaled_dot_general_config
from effax.nn.scaled import scaled_dot_general as scaled_dot_general
from effax.nn.scaled import scaled_matmul as scaled_matmul

__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "get_scaled_dot_general_config",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]
__dir__ = __all__.copy

_cut_at(globals())
