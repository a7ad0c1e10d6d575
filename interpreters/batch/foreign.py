"""Foreign code for a batch: called lane by lane, or once for all lanes where its author says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from effax.effects.errors import MissingRuleError
from effax.effects.rows import control, shape
from effax.effects.rows.foreign import acting_foreign_call, exported_call, foreign_call
from effax.effects.types import ShapedArray, typeof
from effax.interpreters.batch.batched import Batch, all_batched, rule
from effax.interpreters.stage import stage


def lane_by_lane(
    handler: Batch,
    values: Sequence[Any],
    batched: Sequence[bool],
    call: Callable[..., Sequence[Any]],
    name: str,
    unroll: int = 1,
) -> list[Any]:
    """A loop over lanes, of which each is one call; the results, stacked."""
    same = [x for x, b in zip(values, batched, strict=True) if not b]
    many = [x for x, b in zip(values, batched, strict=True) if b]
    types = [typeof(x) for x in values]

    def one(*operands: Any) -> Sequence[Any]:
        shared, rows = iter(operands[: len(same)]), iter(operands[len(same) :])
        return call(*(next(rows if b else shared) for b in batched))

    lane = [t for t, b in zip(types, batched, strict=True) if not b]
    lane += [t.update(shape=t.shape[1:]) for t, b in zip(types, batched, strict=True) if b]
    return list(
        control.scan(
            *same,
            *many,
            body=stage(one, lane, name).program,
            consts=len(same),
            carry=0,
            length=handler.size,
            reverse=False,
            unroll=unroll,
        )
    )


@rule(exported_call)
def exported_call_batch(
    handler: Batch, values: list[Any], batched: list[bool], *, module: Any
) -> Any:
    """A module is for the shapes it was made for: its lanes are called one after another."""
    results = lane_by_lane(
        handler, values, batched, lambda *xs: exported_call(*xs, module=module), module.name
    )
    return results, [True] * len(results)


def _batch_rule(effect: Any) -> None:
    @rule(effect)
    def foreign_call_batch(
        handler: Batch,
        values: list[Any],
        batched: list[bool],
        *,
        target: Any,
        result_types: tuple[ShapedArray, ...],
        vmap_method: str | None,
    ) -> Any:
        """One call for the whole batch, or one for each lane, by `vmap_method`."""
        if vmap_method is None:
            raise MissingRuleError(
                f"vmap of the FFI call to `{target.name}` needs to know how the target is called "
                "for a batch: pass ffi_call vmap_method='sequential' (called for each lane), "
                "'expand_dims' or 'broadcast_all' (called once, with the batch as first axis)"
            )
        given = {"target": target, "result_types": result_types, "vmap_method": vmap_method}
        if vmap_method in ("sequential", "sequential_unrolled"):
            unroll = max(handler.size, 1) if vmap_method == "sequential_unrolled" else 1
            results = lane_by_lane(
                handler, values, batched, lambda *xs: effect(*xs, **given), str(target), unroll
            )
            return results, [True] * len(results)
        if vmap_method == "broadcast_all":
            values, batched = all_batched(handler, values, batched), [True] * len(values)
        elif vmap_method == "expand_dims":
            values = [x if b else _expanded(x) for x, b in zip(values, batched, strict=True)]
            batched = [True] * len(values)
        many = tuple([t.update(shape=(handler.size, *t.shape)) for t in result_types])
        given |= {"target": target.with_lanes(batched), "result_types": many}
        return effect(*values, **given), [True] * len(many)


def _expanded(x: Any) -> Any:
    type = typeof(x)
    return shape.broadcast_in_dim(x, shape=(1, *type.shape), dims=tuple(range(1, 1 + type.ndim)))


_batch_rule(foreign_call)
_batch_rule(acting_foreign_call)
