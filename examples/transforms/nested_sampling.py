"""The evidence of a model by nested sampling: the rest of the program is run again and again.

A model draws `uniform(shape)` numbers from its prior, in the unit cube, and `factor(log_weight)`s
what it has observed. The handler of `uniform` gets the rest of the model as a function of the
numbers: their log-likelihood. Live points climb along it (Skilling 2006): each step takes out the
worst one, counts it with the shrunken prior volume, and puts a point above it in its place, found
by a walk from another one. So the clause resumes in a batch, and in a scan inside a scan.

The answer is the log-evidence; so a model that draws twice integrates over the second draw inside
the likelihood of the first: nested sampling nests, for the handler is deep.
"""

from itertools import count

import effax as fx
import effax.numpy as jnp
from effax import extend, lax, random

uniform_effect = extend.Effect(
    "prior_uniform",
    family="model",
    typing=lambda *, shape: extend.ShapedArray(shape, "float32"),
    row="prior",
)
factor_effect = extend.Effect(
    "weigh_by", family="model", typing=lambda x: [], multiple=True, row="likelihood"
)


def uniform(shape=()):
    """Numbers from the prior: independent, uniform between 0 and 1."""
    return uniform_effect(shape=shape)


def factor(log_weight):
    """Weigh this run of the model by the exponential of a scalar."""
    factor_effect(jnp.asarray(log_weight, float))


def log_evidence(model, key, points=100, steps=1000, moves=20):
    """The logarithm of the integral of a model's weight over its prior; a function of its arguments.

    `points` live points are replaced `steps` times, each by a walk of `moves` proposals. The error
    is about sqrt(information / points), where the rest of the volume, exp(-steps / points), is
    negligible.
    """
    draws = count()

    def integrate(*, shape, resume):
        start, climb = random.split(random.fold_in(key, next(draws)))
        live = random.uniform(start, (points, *shape))
        heights = fx.vmap(resume)(live)

        def step(carry, keyed):
            live, heights, total = carry
            i, k = keyed
            worst = jnp.argmin(heights)
            floor = heights[worst]
            shell = -i / points + jnp.log1p(-jnp.exp(-1.0 / points))
            total = jnp.logaddexp(total, shell + floor)
            from_, walk = random.split(k)
            parent = random.randint(from_, (), 0, points)
            x, height = _climb(
                resume, walk, live[parent], heights[parent], floor, live.std(0), moves
            )
            return (live.at[worst].set(x), heights.at[worst].set(height), total), None

        keys = random.split(climb, steps)
        numbers = jnp.arange(steps, dtype=float)
        (_, heights, total), _ = lax.scan(step, (live, heights, -jnp.inf), (numbers, keys))
        rest = -steps / points - jnp.log(points)
        return jnp.logaddexp(total, rest + fx.nn.logsumexp(heights))

    return extend.handle(
        model,
        {uniform_effect: integrate, factor_effect: lambda x, *, resume: x + resume()},
        result=lambda _: 0.0,
    )


def _climb(height_of, key, x, height, floor, scale, moves):
    """A walk from a point, of proposals that stay in the cube and above the floor."""

    def move(carry, k):
        x, height = carry
        new = x + scale * random.normal(k, x.shape)
        new_height = height_of(jnp.clip(new, 0.0, 1.0))
        inside = ((new >= 0) & (new <= 1)).all() & (new_height > floor)
        return (jnp.where(inside, new, x), jnp.where(inside, new_height, height)), None

    return lax.scan(move, (x, height), random.split(key, moves))[0]
