"""Elementary functions under checkify: NaN outside their domains."""

from __future__ import annotations

from effax.effects import transcendental as t
from effax.interpreters.checkify.checking import computes, spreads

computes(t.exp, t.exp2, t.expm1, t.log, t.log1p, t.logistic, t.logaddexp)
computes(t.sin, t.cos, t.tan, t.asin, t.acos, t.atan, t.atan2)
computes(t.sinh, t.cosh, t.tanh, t.asinh, t.acosh, t.atanh)
spreads(t.exp, t.exp2, t.expm1, t.log, t.log1p, t.logistic, t.sin, t.cos, t.tan, t.tanh)
