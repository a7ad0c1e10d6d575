"""Writes images.npz: resized images as JAX makes them.

Run with a Python that has JAX: `python tests/goldens/make_images.py`.
"""

from pathlib import Path

import numpy as np

IMAGE = (np.arange(12, dtype="float32") ** 2).reshape(3, 4)
SHAPES = [(2, 3), (5, 6), (3, 2), (7, 4)]


def answers():
    import jax.image

    for method in jax.image.ResizeMethod:
        for antialias in (False, True):
            for shape in SHAPES:
                name = f"{method.name}-{int(antialias)}-{shape[0]}x{shape[1]}"
                yield "resize-" + name, jax.image.resize(IMAGE, shape, method, antialias)
            if method is jax.image.ResizeMethod.NEAREST:
                continue
            for scale, move in ((1.5, 0.5), (0.4, 1.25)):
                yield (
                    f"move-{method.name}-{int(antialias)}-{scale}-{move}",
                    jax.image.scale_and_translate(
                        IMAGE, (5, 4), (0,), np.array([scale]), np.array([move]), method, antialias
                    ),
                )


if __name__ == "__main__":
    path = Path(__file__).parent / "images.npz"
    np.savez_compressed(path, **{name: np.asarray(x) for name, x in answers()})
