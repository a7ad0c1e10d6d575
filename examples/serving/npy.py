"""Arrays as the bytes of `.npy` files, which the server and its clients exchange."""

import io
import threading

import numpy as np

READING = threading.Lock()
"""`np.load` reads headers with `ast.literal_eval`, which several threads of CPython 3.11 can't use at
once: one ends with "AST constructor recursion depth mismatch" (gh-106905)."""


def pack(x):
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


def unpack(body):
    """The array. Raises ValueError for bytes that are none."""
    with READING:
        return np.load(io.BytesIO(body), allow_pickle=False)
