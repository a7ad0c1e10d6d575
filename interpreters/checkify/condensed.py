"""Condensed forms under checkify: what fails to converge, or is singular, gives NaN."""

from __future__ import annotations

from effax.effects import condensed as a
from effax.interpreters.checkify.checking import computes

computes(a.schur, a.hessenberg, a.reflections, a.tridiagonal, a.pivoted_qr, a.tridiagonal_solve)
