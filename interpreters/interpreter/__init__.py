"""Interpreters written by users: a class of fields, rules beside it, and nothing else.

    class Interval(fx.Interpreter):
        lo: fx.Leaf
        hi: fx.Leaf

    @Interval.rule(effects.add)
    def add_bounds(x, y):
        return Interval(x.lo + y.lo, x.hi + y.hi)

An `Interval` is data: a pytree of its leaves, which any other transform may carry. While a
function runs under `Interval.transform`, values hold such data in a `Carried`, the handler's own.
What the functor asks of a handler (modes, joins, leaves) is read off the fields.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

from effax.interpreters.interpreter.carried import Carried as Carried
from effax.interpreters.interpreter.data import Interpreter as Interpreter
from effax.interpreters.interpreter.handler import Interpretation as Interpretation

if TYPE_CHECKING:
    # A field declared `lo: Leaf` holds an array, `unit: Static` hashable data, and so on.
    Leaf: TypeAlias = Any
    Log: TypeAlias = Any
    Setting: TypeAlias = Any
    State: TypeAlias = Any
    Static: TypeAlias = Any
else:
    from effax.interpreters.interpreter.fields import Leaf as Leaf
    from effax.interpreters.interpreter.fields import Log as Log
    from effax.interpreters.interpreter.fields import Setting as Setting
    from effax.interpreters.interpreter.fields import State as State
    from effax.interpreters.interpreter.fields import Static as Static
