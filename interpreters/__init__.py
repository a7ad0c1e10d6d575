"""COLUMNS, what it means: one package or file per interpretation of the effects."""

if __name__ != "effax.interpreters":
    raise ImportError(f"{__name__} is called effax.interpreters: two names would make two copies")
