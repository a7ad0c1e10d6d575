"""The figure of a gallery program: made by matplotlib, saved at one size.

The programs that show a transform import it from examples/transforms, which is put on the path.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "transforms"))


@contextmanager
def figure(columns: int = 1, **keywords: Any) -> Iterator[Any]:
    """Give axes to draw on, and save the picture under the path that the command line names."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(1, columns, figsize=(7.2, 3.6), layout="constrained", **keywords)
    yield axes
    path = Path(sys.argv[1] if len(sys.argv) > 1 else f"{Path(sys.argv[0]).stem}.png")
    fig.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(fig)
