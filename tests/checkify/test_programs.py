"""The programs of research.md, E3, checked for everything: the same values, and no alarm."""

import numpy as np
import pytest

import effax
import effax.numpy as jnp
from effax.experimental import checkify
from tests.programs.e3 import PROGRAMS, X, nest, refused


@pytest.mark.parametrize("nesting", [("jit",), ("vmap",), ("grad",)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_checked_programs(name, nesting):
    if refused(name, nesting):
        pytest.skip("no such derivative")
    with effax.enable_x64(True):
        x = jnp.asarray(X)
        f = PROGRAMS[name].make(effax, jnp)
        wanted = nest(effax, jnp, nesting, f)(x)

        def inside(x):
            return checkify.checkify(f, checkify.all_checks)(x)[1]

        outside = effax.jit(checkify.checkify(nest(effax, jnp, nesting, f), checkify.all_checks))
        error, found = outside(x)
        assert error.get() is None
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
        found = nest(effax, jnp, nesting, inside)(x)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
