"""Transcendental: exponentials, logarithms, trigonometric and hyperbolic functions."""

from __future__ import annotations

from effax.effects.facts import SPREADING
from effax.effects.signature import INEXACT, nary, unary

FAMILY = "transcendental"

exp = unary("exp", FAMILY, INEXACT, facts=SPREADING)
"""e to the power x."""
exp2 = unary("exp2", FAMILY, INEXACT, facts=SPREADING)
"""2 to the power x."""
expm1 = unary("expm1", FAMILY, INEXACT, facts=SPREADING)
"""`exp(x) - 1`, exact near zero."""
log = unary("log", FAMILY, INEXACT, facts=SPREADING)
"""The natural logarithm."""
log1p = unary("log1p", FAMILY, INEXACT, facts=SPREADING)
"""`log(1 + x)`, exact near zero."""
logistic = unary("logistic", FAMILY, INEXACT, facts=SPREADING)
"""`1 / (1 + exp(-x))`."""
sin = unary("sin", FAMILY, INEXACT, facts=SPREADING)
"""The sine."""
cos = unary("cos", FAMILY, INEXACT, facts=SPREADING)
"""The cosine."""
tan = unary("tan", FAMILY, INEXACT, facts=SPREADING)
"""The tangent."""
asin = unary("asin", FAMILY, INEXACT)
"""The inverse sine."""
acos = unary("acos", FAMILY, INEXACT)
"""The inverse cosine."""
atan = unary("atan", FAMILY, INEXACT)
"""The inverse tangent."""
sinh = unary("sinh", FAMILY, INEXACT)
"""The hyperbolic sine."""
cosh = unary("cosh", FAMILY, INEXACT)
"""The hyperbolic cosine."""
tanh = unary("tanh", FAMILY, INEXACT, facts=SPREADING)
"""The hyperbolic tangent."""
asinh = unary("asinh", FAMILY, INEXACT)
"""The inverse hyperbolic sine."""
acosh = unary("acosh", FAMILY, INEXACT)
"""The inverse hyperbolic cosine."""
atanh = unary("atanh", FAMILY, INEXACT)
"""The inverse hyperbolic tangent."""
atan2 = nary("atan2", FAMILY, INEXACT)
"""The angle of the point (second, first): the inverse tangent of first / second, by quadrant."""
logaddexp = nary("logaddexp", FAMILY, INEXACT)
"""`log(exp(x) + exp(y))`, without overflow."""
