"""`import jax` where this file is on the path: by `effax.as_jax`, or by packages/effax-jax."""

if __name__ == "jax":
    from effax.as_jax import enter

    of_effax = True
    enter()  # puts another module of this name in this one's place
