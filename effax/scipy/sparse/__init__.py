"""Large linear systems, as `scipy.sparse` has them."""

from effax.scipy.sparse import linalg as linalg
