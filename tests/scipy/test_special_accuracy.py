"""Special functions in float32 against SciPy in float64, where terms cancel."""

import numpy as np
import pytest
import scipy.special
import scipy.stats

from effax.scipy import special, stats

NEAR = np.geomspace(1e-7, 0.3, 200)
WIDE = np.geomspace(1e-4, 1e10, 60)
CASES = {
    "ndtri": (special.ndtri, scipy.special.ndtri, [np.r_[0.5 - NEAR, 0.5, 0.5 + NEAR]], 4e-6),
    "norm.ppf": (stats.norm.ppf, scipy.stats.norm.ppf, [np.r_[0.5 - NEAR, 0.5 + NEAR]], 4e-6),
    "log_ndtr": (special.log_ndtr, scipy.special.log_ndtr, [np.linspace(-9, 8, 300)], 4e-6),
    "exp1": (special.exp1, scipy.special.exp1, [np.geomspace(1e-6, 60, 300)], 4e-6),
    "betaln": (special.betaln, scipy.special.betaln, np.meshgrid(WIDE, WIDE[WIDE > 15]), 2e-6),
}
CASES |= {
    f"expn({n}, x)": (
        lambda x, n=n: special.expn(n, x),
        lambda x, n=n: scipy.special.expn(n, x),
        [np.geomspace(1e-6, 60, 300)],
        8e-6,
    )
    for n in (1, 2, 3, 5, 8, 15)
}


@pytest.mark.parametrize("name", CASES)
def test_digits_are_not_lost(name):
    function, exact, arguments, relative = CASES[name]
    single = [x.astype(np.float32) for x in arguments]
    wanted = exact(*[x.astype(np.float64) for x in single])
    np.testing.assert_allclose(
        function(*single), wanted, rtol=relative, atol=1e-6 * (name == "betaln")
    )
