"""The transpose of a scan: its steps in the opposite order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from effax.effects.program import Equation, Program, Variable, without_dead_code
from effax.effects.rows import control
from effax.effects.rows.elementwise import add
from effax.effects.types import ShapedArray
from effax.interpreters.mapping import all_at_once
from effax.interpreters.residual.recomputing import recompute
from effax.interpreters.stage import stage
from effax.interpreters.transpose.control import Transposed, transpose_program
from effax.interpreters.transpose.linear import instantiate, is_linear, rule


@rule(control.scan)
def transpose_scan(
    cts: Sequence[Any],
    *operands: Any,
    body: Program,
    consts: int,
    carry: int,
    length: int,
    reverse: bool,
    unroll: int,
    split_transpose: bool = False,
) -> list[Any]:
    """The steps in the opposite order; cotangents of constants are summed on the way.

    All of the carry is linear (the split has seen to it); the carry of the transpose is its
    cotangent, and one accumulator for each linear constant.
    """
    fixed, init, xs = _sections(operands, consts, carry)
    linear = (*map(is_linear, fixed), *(True for _ in init), *map(is_linear, xs))
    y_mask = [ct is not None for ct in cts[carry:]]
    done = transpose_program(body, linear, (*(True for _ in init), *y_mask), full=True)
    parts = _Parts(
        done,
        fixed=[x for x in fixed if not is_linear(x)],
        rows=[x for x in xs if not is_linear(x)],
        cotangents=[instantiate(c, t) for c, t in zip(cts, body.out_types[:carry], strict=False)],
        row_cotangents=[ct for ct in cts[carry:] if ct is not None],
        sums=[x.type for x in fixed if is_linear(x)],
        attributes={"length": length, "reverse": not reverse, "unroll": unroll},
    )
    whole = parts.in_two if split_transpose and length else parts.in_one
    to_fixed, to_init, to_xs = whole()
    fixed_cts, x_cts = iter(to_fixed), iter(to_xs)
    return [
        *(next(fixed_cts) if is_linear(x) else None for x in fixed),
        *(ct if is_linear(x) else None for x, ct in zip(init, to_init, strict=True)),
        *(next(x_cts) if is_linear(x) else None for x in xs),
    ]


@attrs.frozen(slots=True, eq=False)
class _Parts:
    """A transposed scan: the transposed body, its operands, and the other attributes.

    The transposed body takes what it captured, known constants, known rows, the cotangents of the
    carry and those of the step's results; it gives the cotangents of the linear constants, of the
    carry, and of the linear rows.
    """

    done: Transposed
    fixed: list[Any]
    rows: list[Any]
    cotangents: list[Any]
    row_cotangents: list[Any]
    sums: list[ShapedArray]
    attributes: dict[str, Any]

    def in_one(self) -> list[list[Any]]:
        """One loop that adds up the cotangents of constants on the way."""
        done, e, n, k = self.done, len(self.done.captured), len(self.fixed), len(self.rows)
        m, carry = len(self.sums), len(self.cotangents)

        def step(*values: Any) -> list[Any]:
            extra, known, totals, carried, rows, ys = _sections(values, e, n, m, carry, k)
            results = done.program.run(*extra, *known, *rows, *carried, *ys)
            to_fixed, to_carry, to_rows = _sections(results, m, carry)
            return [
                *(add(a, b) for a, b in zip(totals, to_fixed, strict=True)),
                *to_carry,
                *to_rows,
            ]

        types = done.program.in_types
        known_types, row_types, ct_types = _sections(types, e + n, k)
        staged = done.program.memo.get("as a step")
        if staged is None:
            in_types = [*known_types, *self.sums, *ct_types[:carry], *row_types, *ct_types[carry:]]
            staged = stage(step, in_types, done.program.name).program
            done.program.memo["as a step"] = staged
        results = control.scan(
            *done.captured,
            *self.fixed,
            *(instantiate(None, t) for t in self.sums),
            *self.cotangents,
            *self.rows,
            *self.row_cotangents,
            body=staged,
            consts=e + n,
            carry=m + carry,
            **self.attributes,
        )
        return _sections(results, m, carry)

    def in_two(self) -> list[list[Any]]:
        """A loop that finds the cotangents of the carry, then all of the rest at once."""
        e, n, k = len(self.done.captured), len(self.fixed), len(self.rows)
        m, carry = len(self.sums), len(self.cotangents)
        first, rest = _cut(self.done.program, e + n, k, m, carry)
        found = control.scan(
            *self.done.captured,
            *self.fixed,
            *self.cotangents,
            *self.rows,
            *self.row_cotangents,
            body=first,
            consts=e + n,
            carry=carry,
            **self.attributes,
        )
        to_carry, stored = found[:carry], found[carry:]
        length = self.attributes["length"]
        results = control.call(
            *self.done.captured,
            *self.fixed,
            *stored,
            *self.rows,
            *self.row_cotangents,
            program=all_at_once(rest, e + n, length, m),
            name=rest.name,
        )
        return [results[:m], to_carry, results[m:]]


def _cut(body: Program, fixed: int, rows: int, sums: int, carry: int) -> tuple[Program, Program]:
    """A transposed step in two: the cotangents of the carry; and what is left, of each row.

    The first part gives, after these, what the second needs of it (the cotangents of the carry
    that the step began with among it), which the second takes after the constants.
    """
    key = "cut", fixed, rows, sums, carry
    found = body.memo.get(key)
    if found is not None:
        return found
    constants, row_inputs, cts = _sections(body.inputs, fixed, rows)
    carried, ys = cts[:carry], cts[carry:]
    to_fixed, to_carry, to_rows = _sections(body.outputs, sums, carry)
    whole = Program(body.inputs, body.equations, to_carry, body.name)
    before = without_dead_code(whole).equations
    mine = {id(e) for e in before}
    left = Program(
        body.inputs,
        [e for e in body.equations if id(e) not in mine],
        [*to_fixed, *to_rows],
        body.name,
    )
    after = without_dead_code(left).equations
    there = {*constants, *row_inputs, *ys}
    made = {x for e in after for x in e.outputs}
    needed = [x for x in _mentioned(after, left.outputs) if x not in there and x not in made]
    again, needed = recompute(before, needed, there)
    needed = [x for x in needed if x not in there]
    first = Program(
        [*constants, *carried, *row_inputs, *ys], before, [*to_carry, *needed], body.name
    )
    rest = Program(
        [*constants, *needed, *row_inputs, *ys], [*again, *after], left.outputs, body.name
    )
    body.memo[key] = first, rest
    return first, rest


def _mentioned(equations: Sequence[Equation], outputs: Sequence[Any]) -> list[Variable]:
    """The variables that equations and results speak of, each once."""
    inputs = [x for e in equations for x in e.inputs]
    return list(dict.fromkeys(x for x in [*inputs, *outputs] if type(x) is Variable))


def _sections(values: Sequence[Any], *lengths: int) -> list[list[Any]]:
    """The values cut into pieces of these lengths, and what is left."""
    rest, pieces = list(values), []
    for n in lengths:
        pieces.append(rest[:n])
        rest = rest[n:]
    return [*pieces, rest]
