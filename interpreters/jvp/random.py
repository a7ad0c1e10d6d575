"""Forward mode of random bits: bits do not move."""

from typing import Any, NoReturn

from effax.effects.rows import random
from effax.interpreters.jvp.dual import rule


@rule(random.rng_uniform, pure=True)
def rng_uniform_jvp(primals: list[Any], tangents: list[Any], *, shape: tuple[int, ...]) -> NoReturn:
    raise NotImplementedError(
        "rng_uniform has no derivative with respect to its bounds; draw between 0 and 1 and scale"
    )
