"""`python -m effax.laws [examples]`: the laws by classes of programs."""

import sys

from effax.laws.check import matrix

print(matrix(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
