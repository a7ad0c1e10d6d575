"""Functions of `scipy` over effects."""

from effax.scipy import cluster as cluster
from effax.scipy import integrate as integrate
from effax.scipy import interpolate as interpolate
from effax.scipy import linalg as linalg
from effax.scipy import spatial as spatial
from effax.scipy import special as special
from effax.scipy import stats as stats
