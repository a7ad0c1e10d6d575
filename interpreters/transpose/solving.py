"""The transpose of a linear system is the system of the transposed map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from effax.effects.errors import UnsupportedDerivativeError
from effax.effects.program import Program
from effax.effects.rows import solving
from effax.effects.rows.solving import Counts, sections
from effax.interpreters.transpose.linear import instantiate, rule, value_type


@rule(solving.linear_solve)
def linear_solve_transpose(
    cts: Sequence[Any],
    *operands: Any,
    matvec: Program,
    vecmat: Program | None,
    solve: Program,
    transpose_solve: Program | None,
    consts: Counts,
) -> list[Any]:
    if transpose_solve is None:
        raise UnsupportedDerivativeError(
            "custom_linear_solve: reverse mode needs the solver of the transposed system; give "
            "transpose_solve, or symmetric=True"
        )
    own, own_t, solver, solver_t, b = sections(operands, consts)
    full = [instantiate(ct, value_type(x)) for ct, x in zip(cts, b, strict=False)]
    pulled = solving.linear_solve(
        *own_t,
        *own,
        *solver_t,
        *solver,
        *full,
        matvec=vecmat,
        vecmat=matvec,
        solve=transpose_solve,
        transpose_solve=solve,
        consts=Counts(consts.vecmat, consts.matvec, consts.transpose_solve, consts.solve),
    )
    return [*(None for _ in range(sum(consts))), *pulled[: len(b)]]
