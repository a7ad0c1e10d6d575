"""Linear algebra in `lax`: factorisations of batches of matrices, and triangular systems."""

from typing import Any

from effax.lax.algorithms import EighImplementation as EighImplementation
from effax.lax.algorithms import EigImplementation as EigImplementation
from effax.lax.algorithms import SvdAlgorithm as SvdAlgorithm
from effax.lax.condensed import hessenberg as hessenberg
from effax.lax.condensed import schur as schur
from effax.lax.condensed import tridiagonal as tridiagonal
from effax.lax.condensed import tridiagonal_solve as tridiagonal_solve
from effax.lax.decompositions import cholesky as cholesky
from effax.lax.decompositions import eig as eig
from effax.lax.decompositions import eigh as eigh
from effax.lax.decompositions import lu as lu
from effax.lax.decompositions import lu_pivots_to_permutation as lu_pivots_to_permutation
from effax.lax.decompositions import qr as qr
from effax.lax.decompositions import svd as svd
from effax.lax.decompositions import symmetric_product as symmetric_product
from effax.lax.decompositions import triangular_solve as triangular_solve
from effax.lax.polar import qdwh as qdwh
from effax.lax.reflections import cholesky_update as cholesky_update
from effax.lax.reflections import householder_product as householder_product
from effax.lax.reflections import ormqr as ormqr

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> Any:
    """`lu_p` is the effect `lu`, as in `extend.core.primitives`."""
    if name.endswith("_p") and not name.startswith("_"):
        from effax.api.surface import primitives

        return getattr(primitives, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
