"""COLUMNS that compute: XLA, and the reference in NumPy."""

if __name__ != "effax.backends":
    raise ImportError(f"{__name__} is called effax.backends: two names would make two copies")
