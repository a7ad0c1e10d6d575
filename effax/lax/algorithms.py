"""Names of the algorithms that decompositions may ask for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any


class EigImplementation(Enum):
    """Libraries with eigenvalues of general matrices."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(Enum):
    """Algorithms for eigenvalues of Hermitian matrices."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(Enum):
    """Algorithms for singular values."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


def accept(name: str, parameter: str, given: Any, known: Sequence[Any]) -> None:
    """Raise `NotImplementedError` for a choice that the library does not have."""
    if given not in known:
        raise NotImplementedError(
            f"lax.linalg.{name}: {parameter}={given!r} is not implemented; leave it out for the "
            "library's own choice"
        )
