"""jax._src.internal_test_util.test_harnesses: a function with the descriptions of its arguments.

Only the classes are here. JAX's list of some thousand uses of its primitives is not: it calls
private names throughout, so `all_harnesses` is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxshims import test_util as jtu


class RandArg(NamedTuple):
    """An argument drawn at random."""

    shape: tuple
    dtype: Any


class StaticArg(NamedTuple):
    """An argument that is given as it is, and is no array."""

    value: Any


class CustomArg(NamedTuple):
    """An argument that a function makes of a generator."""

    make: Any


ArgDescriptor = Any
Limitation = Any
all_harnesses: list = []


class Harness:
    """A function and what it is called with."""

    def __init__(
        self,
        group_name,
        name,
        fun,
        arg_descriptors,
        *,
        dtype,
        rng_factory=jtu.rand_default,
        jax_unimplemented=(),
        **params,
    ):
        self.group_name = jtu.sanitize_test_name(group_name)
        self.name = jtu.sanitize_test_name(name)
        self.fullname = f"{self.group_name}_{self.name}"
        self.fun = fun
        self.arg_descriptors = arg_descriptors
        self.dtype = dtype
        self.rng_factory = rng_factory
        self.jax_unimplemented = jax_unimplemented
        self.params = params

    def __str__(self):
        return self.fullname

    def dyn_args_maker(self, rng):
        """Return the arguments that are no `StaticArg`."""
        made = []
        for x in self.arg_descriptors:
            if isinstance(x, RandArg):
                made.append(self.rng_factory(rng)(x.shape, x.dtype))
            elif isinstance(x, CustomArg):
                made.append(x.make(rng))
            elif not isinstance(x, StaticArg):
                made.append(x)
        return made

    def dyn_fun(self, *given):
        """Call the function with these arguments, and with the static ones at their places."""
        rest = iter(given)
        return self.fun(
            *[x.value if isinstance(x, StaticArg) else next(rest) for x in self.arg_descriptors]
        )


def parameterized(harnesses, *, one_containing=None, include_jax_unimpl=False):
    """Return a decorator that makes a test of each harness."""
    from absl.testing import parameterized as absl_parameterized

    cases = [
        {"testcase_name": h.fullname, "harness": h}
        for h in harnesses
        if one_containing is None or one_containing in h.fullname
    ]
    return absl_parameterized.named_parameters(*cases)
