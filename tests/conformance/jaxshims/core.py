"""jax._src.core; most names come from jax.core and jax.extend.core."""

from __future__ import annotations

import jaxshims


def _jaxprs_in(value):
    if hasattr(value, "eqns") and hasattr(value, "invars"):
        yield value
    elif hasattr(value, "jaxpr") and hasattr(value.jaxpr, "eqns"):
        yield value.jaxpr
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _jaxprs_in(v)


def jaxprs_in_params(params):
    for value in params.values():
        yield from _jaxprs_in(value)


def subjaxprs(jaxpr):
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def typeof(x):
    return jaxshims.target_attr("typeof")(x)
