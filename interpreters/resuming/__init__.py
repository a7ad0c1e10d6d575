"""Handlers whose clauses take the resumption: the rest of the program, as a function.

A rule of an `Interpreter` answers in place: the program goes on with its result, once. A clause of
`handle` is given `resume` instead, and what it returns is the answer of the whole computation. It
may resume never (an exception), once, several times (search), inside `vmap`, under `grad`.

There is no frame of Python to copy. The function is staged first, and its program is cut at the
effects that have clauses (`segments`); the rest of a program after a cut is a program, too.
(Plotkin & Pretnar 2009; the forms are those of Koka's `ctl` and `final ctl`, Leijen 2017.)
"""

from effax.interpreters.resuming.clauses import Clauses as Clauses
from effax.interpreters.resuming.clauses import Context as Context
from effax.interpreters.resuming.clauses import Resumption as Resumption
from effax.interpreters.resuming.loops import STEPS as STEPS
