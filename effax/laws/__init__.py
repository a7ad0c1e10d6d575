"""Laws: equations between transformations, asked about random programs.

`check()` asks the library's own; `check(transform)` asks those of a transformation that you wrote,
and prints the smallest program that breaks each one it does not keep. `python -m effax.laws` prints
the table of all laws by classes of programs, or by transformations.
"""

from importlib.util import find_spec

if find_spec("hypothesis") is None:
    raise ModuleNotFoundError(
        "effax.laws draws its programs with hypothesis, which is not installed: "
        "pip install hypothesis",
        name="hypothesis",
    )

from effax.laws.check import CLASSES as CLASSES
from effax.laws.check import Report as Report
from effax.laws.check import Verdict as Verdict
from effax.laws.check import cases as cases
from effax.laws.check import check as check
from effax.laws.check import hold as hold
from effax.laws.check import judge as judge
from effax.laws.check import matrix as matrix
from effax.laws.generate import arguments as arguments
from effax.laws.generate import mixed_programs as mixed_programs
from effax.laws.generate import programs as programs
from effax.laws.law import LAWS as LAWS
from effax.laws.law import Case as Case
from effax.laws.law import Law as Law
from effax.laws.law import Violation as Violation
from effax.laws.law import law as law
from effax.laws.sketch import Sketch as Sketch
from effax.laws.table import Asked as Asked
from effax.laws.table import markdown as markdown
from effax.seeing.python_text import program as program

__all__ = [
    "CLASSES",
    "LAWS",
    "Asked",
    "Case",
    "Law",
    "Report",
    "Sketch",
    "Verdict",
    "Violation",
    "arguments",
    "cases",
    "check",
    "hold",
    "judge",
    "law",
    "markdown",
    "matrix",
    "mixed_programs",
    "program",
    "programs",
]
__dir__ = __all__.copy
