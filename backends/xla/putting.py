"""Values that are put on devices, or beside another; loaded with the first that is."""

from __future__ import annotations

from typing import Any

from effax.backends.xla.array import Array, device_put
from effax.backends.xla.dispatch import host_rules, operand
from effax.backends.xla.mesh import NamedSharding, with_devices
from effax.backends.xla.placement import Sharding
from effax.effects.cuts import shortest
from effax.effects.mesh import UNCONSTRAINED
from effax.effects.rows.sharding import grouped, put, with_sharding_constraint


def put_on(x: Any, sharding: Sharding, back: Sharding | None = None) -> Any:
    """Return a value of any handler, put on the devices of a sharding.

    Args:
      x: the value.
      sharding: the sharding.
      back: where cotangents go; None is for the place that the value is known to lie at, if any.
    """
    return put(x, sharding=sharding, back=back)


def alike(x: Any, y: Any, group: int) -> list[Any]:
    """Return two values that lie in the same way; the group has a number of its own."""
    found: list[Any] = grouped(x, y, group=(group,))
    return found


def put_at_once(x: Any, *, sharding: Any, back: Any) -> Array:
    """The array on the devices of a sharding."""
    array = operand(x)
    if not isinstance(sharding, NamedSharding):
        return device_put(array, sharding)
    sharding = sharding.update(mesh=with_devices(sharding.mesh))
    if sharding.is_constraint:  # of a batch, whose axis may be cut in any way
        if array.spec.placement.devices == sharding.mesh.flat:
            constrained: Array = with_sharding_constraint(array, sharding=sharding)
            return constrained
        spec = [None if entry is UNCONSTRAINED else entry for entry in sharding.spec]
        sharding = sharding.update(spec=shortest(spec))
    return device_put(array, sharding)


def put_alike(*values: Any, group: tuple[int, ...]) -> list[Array]:
    """The arrays, put where the first is that is cut up; or else committed to some devices."""
    arrays = [operand(x) for x in values]
    committed = [x for x in arrays if x.spec.committed]
    if not committed:
        return arrays
    model = next((x for x in committed if x.spec.placement.split), committed[0])
    devices = set(model.spec.placement.devices)
    for x in committed:
        if set(x.spec.placement.devices) != devices:
            ids = [[d.id for d in y.spec.placement.devices] for y in (model, x)]
            raise ValueError(
                f"shard_alike: Received incompatible devices: one array is on those with ids "
                f"{ids[0]}, another on {ids[1]}; move one of them with device_put"
            )
    return [device_put(x, model.sharding) for x in arrays]


host_rules[put] = put_at_once
host_rules[grouped] = put_alike
