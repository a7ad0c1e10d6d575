"""The line that each NaN of a result came from, for points of a plane."""

import re

import numpy as np
from _figure import figure
from nan_provenance import NONE, provenance, sites  # pyright: ignore[reportMissingImports]

import effax
import effax.numpy as jnp


def field(x, y):
    """A function that leaves its domain in three places."""
    slope = jnp.sqrt(x * x + y * y - 0.5)
    depth = jnp.log(1.5 - x - y)
    angle = jnp.arcsin(slope / 2.2)
    return slope * depth + angle


def run(count):
    """The values on a grid, the number of each NaN's origin or -1, and the origins' texts."""
    line = jnp.linspace(-2.0, 2.0, count)
    found = effax.jit(provenance(field))(*jnp.meshgrid(line, line))
    origins = np.where(found.origin == NONE, -1, found.origin)
    return np.array(found.value), origins, list(sites)


if __name__ == "__main__":
    values, origins, texts = run(400)
    extent = (-2, 2, -2, 2)
    with figure(2) as (left, right):
        left.imshow(values, extent=extent, origin="lower")
        left.set(title="values; white is NaN")
        for i, number in enumerate(sorted(set(origins.ravel()) - {-1})):
            name, line = re.findall(r"(\w+) at .*?:(\d+)", texts[number])[0]
            part = np.where(origins == number, i, np.nan)
            right.imshow(part, cmap="tab10", vmin=0, vmax=9, extent=extent, origin="lower")
            right.plot([], [], f"C{i}s", label=f"{name}, line {line}")
        right.set(title="where they began")
        right.legend(loc="lower left")
