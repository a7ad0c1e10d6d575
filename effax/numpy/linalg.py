"""Linear algebra as `numpy.linalg` has it: matrices are the last two axes of arrays."""

from effax.numpy.decompositions import EighResult as EighResult
from effax.numpy.decompositions import EigResult as EigResult
from effax.numpy.decompositions import QRResult as QRResult
from effax.numpy.decompositions import SVDResult as SVDResult
from effax.numpy.decompositions import cholesky as cholesky
from effax.numpy.decompositions import eig as eig
from effax.numpy.decompositions import eigh as eigh
from effax.numpy.decompositions import eigvals as eigvals
from effax.numpy.decompositions import eigvalsh as eigvalsh
from effax.numpy.decompositions import qr as qr
from effax.numpy.decompositions import svd as svd
from effax.numpy.decompositions import svdvals as svdvals
from effax.numpy.norms import cond as cond
from effax.numpy.norms import cross as cross
from effax.numpy.norms import diagonal as diagonal
from effax.numpy.norms import matmul as matmul
from effax.numpy.norms import matrix_norm as matrix_norm
from effax.numpy.norms import matrix_transpose as matrix_transpose
from effax.numpy.norms import multi_dot as multi_dot
from effax.numpy.norms import norm as norm
from effax.numpy.norms import outer as outer
from effax.numpy.norms import tensordot as tensordot
from effax.numpy.norms import trace as trace
from effax.numpy.norms import vecdot as vecdot
from effax.numpy.norms import vector_norm as vector_norm
from effax.numpy.systems import SlogdetResult as SlogdetResult
from effax.numpy.systems import det as det
from effax.numpy.systems import inv as inv
from effax.numpy.systems import lstsq as lstsq
from effax.numpy.systems import matrix_power as matrix_power
from effax.numpy.systems import matrix_rank as matrix_rank
from effax.numpy.systems import pinv as pinv
from effax.numpy.systems import slogdet as slogdet
from effax.numpy.systems import solve as solve
from effax.numpy.systems import tensorinv as tensorinv
from effax.numpy.systems import tensorsolve as tensorsolve

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
__dir__ = __all__.copy
