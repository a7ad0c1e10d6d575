"""Arguments for the elementwise rows: arithmetic, transcendental and special functions, bits, ..."""

import ml_dtypes
import numpy as np

from effax.effects.rows import (
    comparison,
    complex,
    conversion,
    elementwise,
    logical,
    selection,
    special,
    transcendental,
)

random = np.random.default_rng(7)

X = random.normal(size=(3, 4)).astype(np.float32)
Y = random.normal(size=(3, 4)).astype(np.float32)
POSITIVE = (np.abs(X) + 0.3).astype(np.float32)
OTHER = (np.abs(Y) + 0.4).astype(np.float32)
INSIDE = (np.tanh(X) * 0.9).astype(np.float32)
UNIT = (0.05 + 0.9 * random.random((3, 4))).astype(np.float32)
EDGES = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1.5], np.float32)
BACK = EDGES[::-1].copy()
INTS = random.integers(-7, 8, (3, 4)).astype(np.int32)
DIVISORS = np.where(INTS.T.reshape(3, 4) == 0, 3, INTS.T.reshape(3, 4)).astype(np.int32)
BYTES = random.integers(0, 256, (3, 4)).astype(np.uint8)
SHIFTS = random.integers(0, 9, (3, 4)).astype(np.uint8)
FLAGS = X > 0
OTHER_FLAGS = Y > 0
COMPLEX = (X + 1j * Y).astype(np.complex64)
COMPLEX2 = (Y - 1j * X + 0.1).astype(np.complex64)
NARROW = X.astype(ml_dtypes.bfloat16)
HALF = POSITIVE.astype(np.float16)

ANY_REAL = [
    elementwise.neg, elementwise.square, elementwise.cbrt, transcendental.exp,
    transcendental.exp2, transcendental.expm1, transcendental.logistic, transcendental.sin,
    transcendental.cos, transcendental.tan, transcendental.atan, transcendental.sinh,
    transcendental.cosh, transcendental.tanh, transcendental.asinh, special.erf, special.erfc,
    special.bessel_i0e, special.bessel_i1e, elementwise.copy, elementwise.abs,
]  # fmt: skip
STEPS = [elementwise.floor, elementwise.ceil, elementwise.sign, elementwise.is_finite]
ANY_COMPLEX = [
    elementwise.neg, elementwise.square, elementwise.sqrt, elementwise.rsqrt, elementwise.abs,
    elementwise.sign, transcendental.exp, transcendental.exp2, transcendental.expm1,
    transcendental.log, transcendental.log1p, transcendental.logistic, transcendental.sin,
    transcendental.cos, transcendental.tan, transcendental.asin, transcendental.acos,
    transcendental.atan, transcendental.sinh, transcendental.cosh, transcendental.tanh,
    transcendental.asinh, transcendental.acosh, transcendental.atanh, complex.real, complex.imag,
    complex.conj,
]  # fmt: skip
OF_TWO = [
    elementwise.add, elementwise.sub, elementwise.mul, elementwise.max, elementwise.min,
    transcendental.logaddexp, transcendental.atan2,
]  # fmt: skip
COMPARISONS = [
    comparison.eq, comparison.ne, comparison.lt, comparison.le, comparison.gt, comparison.ge,
    comparison.eq_to, comparison.lt_to, comparison.le_to,
]  # fmt: skip

SMOOTH = [
    *((e, (X,), {}) for e in ANY_REAL),
    *((e, (NARROW,), {}) for e in (elementwise.neg, transcendental.tanh)),
    *((e, (POSITIVE,), {}) for e in (elementwise.sqrt, elementwise.rsqrt)),
    *((e, (POSITIVE,), {}) for e in (transcendental.log, transcendental.log1p)),
    *((e, (POSITIVE,), {}) for e in (special.lgamma, special.digamma)),
    (transcendental.acosh, (POSITIVE + 1,), {}),
    *((e, (INSIDE,), {}) for e in (transcendental.asin, transcendental.acos)),
    *((e, (INSIDE,), {}) for e in (transcendental.atanh, special.erf_inv)),
    *((e, (X, Y), {}) for e in OF_TWO),
    *((e, (X, 0.25), {}) for e in OF_TWO),
    *((e, (0.25, X), {}) for e in OF_TWO),
    *((e, (X, OTHER), {}) for e in (elementwise.div, elementwise.rem)),
    (elementwise.div, (1.5, OTHER), {}),
    (elementwise.div, (X, 1.5), {}),
    (elementwise.pow, (POSITIVE, Y), {}),
    (elementwise.pow, (POSITIVE, 2.5), {}),
    (elementwise.pow, (1.5, Y), {}),
    (elementwise.pow, (POSITIVE, INTS), {}),
    *((elementwise.integer_pow, (POSITIVE,), {"y": n}) for n in (-2, -1, 0, 1, 2, 3, 7)),
    (special.igamma, (OTHER, POSITIVE), {}),
    (special.igammac, (OTHER, POSITIVE + 2), {}),
    (special.regularized_incomplete_beta, (0.7, 1.3, UNIT), {}),
    (special.polygamma, (2.0, POSITIVE), {}),
    (complex.complex, (X, Y), {}),
    (conversion.convert_element_type, (X,), {"dtype": np.dtype(np.complex64)}),
    (conversion.convert_element_type, (X,), {"dtype": np.dtype(ml_dtypes.bfloat16)}),
    (selection.select_n, (FLAGS, X, Y), {}),
    (selection.select_n, (FLAGS, 0.0, Y), {}),
    (selection.select_n, (np.asarray(True), X, Y), {}),
    (selection.select_n, (np.abs(INTS) % 3, X, Y, POSITIVE), {}),
    (selection.clamp, (-0.5, X, 0.5), {}),
    (selection.clamp, (np.float32(-0.5), X, np.float32(0.5)), {}),
    (selection.clamp, (-POSITIVE, X * 2, OTHER), {}),
]

SAMPLES = [
    *SMOOTH,
    *((e, (EDGES,), {}) for e in (*ANY_REAL, *STEPS) if e is not special.bessel_i1e),
    *((e, (EDGES, BACK), {}) for e in (*OF_TWO, elementwise.div, *COMPARISONS)),
    *((e, (COMPLEX,), {}) for e in ANY_COMPLEX),
    *((e, (COMPLEX, COMPLEX2), {}) for e in (*OF_TWO[:-1], elementwise.div, elementwise.pow)),
    *((e, (COMPLEX, COMPLEX2), {}) for e in (comparison.eq, comparison.ne)),
    *((elementwise.round, (EDGES,), {"rounding_method": m}) for m in (0, 1)),
    *((e, (INTS, DIVISORS), {}) for e in (elementwise.div, elementwise.rem, *OF_TWO[:5])),
    *((e, (INTS, INTS.T.reshape(3, 4)), {}) for e in (elementwise.div, elementwise.rem)),
    *((e, (BYTES, SHIFTS), {}) for e in (elementwise.div, elementwise.rem, *OF_TWO[:5])),
    *((e, (INTS, DIVISORS), {}) for e in COMPARISONS),
    *((e, (FLAGS, OTHER_FLAGS), {}) for e in (*COMPARISONS, elementwise.max, elementwise.min)),
    *((e, (HALF, 0.5), {}) for e in (*OF_TWO, *COMPARISONS)),
    *((elementwise.integer_pow, (INTS,), {"y": n}) for n in (0, 1, 5)),
    *((e, (INTS,), {}) for e in (elementwise.abs, elementwise.sign, elementwise.square)),
    *((e, (BYTES,), {}) for e in (elementwise.abs, elementwise.sign)),
    (elementwise.nextafter, (EDGES, BACK), {}),
    (elementwise.stop_gradient, (X,), {}),
    (elementwise.sqrt, (HALF,), {}),
    *((e, (x, y), {}) for e in (logical.and_, logical.or_, logical.xor)
      for x, y in ((INTS, DIVISORS), (BYTES, SHIFTS), (FLAGS, OTHER_FLAGS))),
    *((logical.not_, (x,), {}) for x in (INTS, BYTES, FLAGS)),
    *((e, (x, y), {}) for e in (
        logical.shift_left, logical.shift_right_logical, logical.shift_right_arithmetic)
      for x, y in ((BYTES, SHIFTS), (INTS, np.abs(DIVISORS) * 6))),
    *((e, (x,), {}) for e in (logical.population_count, logical.clz) for x in (INTS, BYTES)),
    *((special.lgamma, (x,), {}) for x in (X - 3, POSITIVE * 20)),
    (special.digamma, (X * 3 + 0.3,), {}),
    (special.zeta, (POSITIVE + 1.5, OTHER), {}),
    (special.polygamma, (np.round(OTHER + 1), POSITIVE), {}),
    (special.igamma, (POSITIVE * 5, OTHER * 6), {}),
    (special.igamma, (POSITIVE * 5, np.zeros_like(X)), {}),
    (special.igammac, (POSITIVE * 5, OTHER * 6), {}),
    (special.igamma_grad_a, (POSITIVE * 2, OTHER * 3), {}),
    (special.random_gamma_grad, (POSITIVE * 2, OTHER * 3), {}),
    (special.regularized_incomplete_beta, (POSITIVE * 3, OTHER * 3, UNIT), {}),
    (special.regularized_incomplete_betac, (POSITIVE * 3, OTHER * 3, UNIT), {}),
    (special.gamma_density, (POSITIVE * 5, OTHER * 6), {}),
    (special.beta_density, (POSITIVE * 3, OTHER * 3, UNIT), {}),
    (special.bessel_i0e, (X * 20,), {}),
    (special.bessel_i0e_grad, (X * 20,), {}),
    *((conversion.convert_element_type, (x,), {"dtype": np.dtype(d)})
      for x in (X * 3, INTS, FLAGS, COMPLEX, BYTES) for d in ("int32", "bool", "uint8", "complex64", "float16")
      if not (x is not BYTES and x is not FLAGS and d == "uint8")),
    *((conversion.bitcast_convert_type, (x,), {"dtype": np.dtype(d)})
      for x, d in ((X, "int32"), (X, "uint8"), (X.view(np.uint8).reshape(3, 4, 4), "float32"))),
    (conversion.reduce_precision, (X,), {"exponent_bits": 5, "mantissa_bits": 4}),
    (conversion.reduce_precision, (EDGES * 1e5,), {"exponent_bits": 5, "mantissa_bits": 10}),
]  # fmt: skip
