"""ROWS, what can be asked: the kernel, and one file per family of effects."""

if __name__ != "effax.effects":
    raise ImportError(f"{__name__} is called effax.effects: two names would make two copies")
