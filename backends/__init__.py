"""COLUMNS that compute: XLA, and the reference in NumPy."""

if __name__ != "effax.backends":
    raise ImportError(
        f"import {__name__} as effax.backends: a second name would make a second copy"
    )
