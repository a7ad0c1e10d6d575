"""Functions of `scipy` over effects."""

from effax.scipy import linalg as linalg
from effax.scipy import special as special
from effax.scipy import stats as stats
