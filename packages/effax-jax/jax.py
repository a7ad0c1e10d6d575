"""`import jax` where this file is on the path: by `effax.as_jax`, or by packages/effax-jax."""

if __name__ == "jax":
    from importlib import import_module

    from effax.as_jax import enter

    of_effax = True
    enter()
    import_module("jax")  # another module of this name, in this one's place
