"""Intended differences between effax and JAX, each with its reason, as narrow as it can be."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.grid.case import Case, Operand


class Forgiven(NamedTuple):
    """A difference that is let pass: of functions (patterns of names, apart by |), kinds of
    difference, in cases whose code `code` is found in and whose difference `why` is found in.
    `dtypes`, `values`: some operand has one of these dtypes, or kinds of values; "" is any."""

    reason: str
    function: str
    kinds: str
    why: str = ""
    code: str = ""
    dtypes: str = ""
    values: str = ""

    def covers(self, function: str, kind: str, case: Case, why: str) -> bool:
        return (
            any(fnmatchcase(function, pattern) for pattern in self.function.split("|"))
            and kind in self.kinds.split()
            and bool(re.search(self.why, why))
            and bool(re.search(self.code, case.code))
            and (not self.dtypes or any(o.dtype in self.dtypes.split() for o in case.operands))
            and (not self.values or any(_kind(o) in self.values.split() for o in case.operands))
        )


def _kind(operand: Operand) -> str:
    return operand.kind.partition(":")[0]


COMPLEX = "complex64 complex128"
EIGHT_BITS = "float8_e5m2 float8_e5m2fnuz float8_e4m3fn float8_e4m3fnuz float8_e4m3b11fnuz"

TABLE = [
    Forgiven("the least integer has no negative", "jnp.*partition*", "value", values="extreme"),
    Forgiven(
        "eight bits hold few edges and few digits",
        "jnp.histogram*|jsp.special.multigammaln*",
        "value",
        dtypes=EIGHT_BITS,
    ),
    Forgiven("a number on an edge of a compiled bin", "jnp.histogram2d*|jnp.histogramdd*", "value"),
    Forgiven(
        "a number is no array of 64 bits", "jnp.dot*|Array.dot*|jnp.vdot*", "accepts", "TypeError"
    ),
    Forgiven("none of the largest are asked for", "lax.approx_m*", "accepts", code="k=0"),
    Forgiven(
        "where quantiles are infinite their slope is too; JAX's is 0",
        "jsp.special.ndtri *|jsp.stats.*.ppf *|jsp.stats.*.isf *",
        "value",
        "inf",
    ),
    Forgiven(
        "an array and a strong update are strong, mapped or not",
        "lax.dynamic_update_* vmap",
        "weak",
    ),
    Forgiven(
        "JAX's slope is 0 where the parameter or the number is 0",
        "jsp.special.boxcox* *",
        "value",
        values="edges among",
    ),
    Forgiven(
        "of shares, parameters and counts that are none a slope is NaN",
        "jsp.stats.pareto.* *|jsp.stats.nbinom.* *|jsp.stats.bernoulli.* *"
        "|jsp.stats.poisson.entropy *|jsp.stats.dirichlet.* *",
        "value",
        values="edges among extreme",
    ),
    Forgiven(
        "a last share that is 1 less the others is rounded",
        "jsp.stats.dirichlet.*",
        "value",
        code=r"jnp\.sum",
    ),
    Forgiven("JAX's is NaN at infinity", "nn.squareplus*|jsp.special.spence*", "value", "nan"),
    Forgiven("JAX's recurrence loses all digits", "jsp.special.bessel_jn *", "value"),
    Forgiven(
        "subnormal numbers are zeros in some instructions, and not in others",
        "large jnp.float_power*|large jnp.cbrt*|large lax.pow*|large jnp.pow*",
        "value",
        values="bits",
    ),
    Forgiven(
        "integers beyond 2^24 are floats first",
        "nn.*soft*|nn.log*",
        "value",
        dtypes="int32 uint32 int64 uint64",
        values="extreme",
    ),
    Forgiven(
        "JAX's logarithm of the beta function has nine digits in float64",
        "jsp.special.betaln *|jsp.stats.betabinom.* *",
        "value",
        dtypes="float64",
    ),
    Forgiven("JAX's has 64 bits without 64 bits, and takes anything", "lax.empty", "dtype accepts"),
    Forgiven("places are no weak integers", "lax.top_k*|lax.approx_m*", "weak", r"int32\*"),
    Forgiven(
        "JAX's weak type of an unusual width, or of one path of several",
        "jnp.linalg.det*|jnp.einsum*|jnp.trapezoid*|jnp.unique*|jsp.stats.chi2.*|nn.softplus*"
        "|large nn.softplus|jnp.setxor1d*|jnp.unravel_index*",
        "weak dtype",
    ),
    Forgiven(
        "what overflows is NaN or infinite in some part",
        "jsp.fft.dct*|jsp.linalg.expm*|jsp.linalg.rsf2csf*|jnp.poly*|lax.cumprod *"
        "|jnp.*cumprod *|jnp.linalg.slogdet*|jsp.special.sph_harm_y *",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "a deviation of one number, and a maximum of none, have no slope",
        "Array.std|jnp.std|jnp.amax|jnp.max|Array.max",
        "difference",
        "nan",
    ),
    Forgiven("a density is infinite at 0", "jsp.stats.chi2.* vjp", "value", "inf"),
    Forgiven(
        "at 0 the slope is infinite",
        "jsp.special.kl_div *|jsp.special.rel_entr *",
        "value",
        values="edges among",
    ),
    Forgiven("v is no negative order", "jsp.special.bessel_jn*", "refuses", "^ValueError"),
    Forgiven(
        "at both ends a share is halved", "jsp.stats.uniform.cdf *", "value", values="extreme"
    ),
    Forgiven("weights of integers overflow in JAX", "jnp.cov*", "value", values="extreme among"),
    Forgiven("an axis exists, as in NumPy", "jnp.logspace|jnp.take_along_axis", "refuses", "Error"),
    Forgiven("a step of 0 is none, as in NumPy", "jnp.mgrid*", "refuses", "ZeroDivisionError"),
    Forgiven("a truth is no axis or count", "jnp.packbits*|jnp.median*", "accepts"),
    Forgiven("no shape has such a length", "jnp.unravel_index*", "value", code=r"[(\[]0[,\]]"),
    Forgiven("two bits in order, as in NumPy", "*.sort*|jnp.partition*", "value", dtypes="int2"),
    Forgiven("a period is positive", "jnp.unwrap*", "value", code="period=-"),
    Forgiven("no elements of eight bits", "jsp.signal.*", "dtype", why=r"\[0,"),
    Forgiven("a slope at a share of 1", "jsp.stats.geom.* *", "value", values="among"),
    Forgiven(
        "the largest numbers are added up in another order",
        "*.trapezoid*|jnp.sum*",
        "value",
        values="extreme",
    ),
    Forgiven("unsigned -1 is cut to 0", "nn.hard_tanh*", "value", dtypes="uint8 uint16 uint32"),
    Forgiven("matrices without rows and columns", "jsp.linalg.pascal", "dtype"),
    Forgiven(
        "JAX's lgamma of 1 and 2 is 4.8e-7", "*", "value", r"instead of .*4\.7683715820\d*e-07"
    ),
    Forgiven(
        "far out JAX's slope is a difference of two large numbers",
        "jsp.special.log_ndtr *|jsp.stats.norm.log* *|jsp.stats.truncnorm.* *",
        "value",
    ),
    Forgiven(
        "JAX's quotient is rounded before it is cut",
        "jnp.mod *|jnp.remainder *|jnp.fmod *|lax.rem *|jnp.divmod *|Array.__*mod__ *",
        "value",
    ),
    Forgiven(
        "JAX's shares of a large sum are rounded with it",
        "jnp.logaddexp* *",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "the slope is NaN where the function is",
        "*.gammainc* *|lax.igamma* *|*.betainc *|jsp.stats.gamma.* *|jsp.stats.chi2.* *"
        "|jsp.stats.beta.* *|jsp.stats.poisson.* *",
        "value",
        "nan",
    ),
    Forgiven(
        "infinitely many are no parameter", "jsp.stats.dirichlet.*", "value", "nan", values="among"
    ),
    Forgiven("where terms leave no digit of the sum it is NaN", "jsp.special.hyp*", "value", "nan"),
    Forgiven("counts are real numbers", "random.multinomial*", "refuses", "^ValueError", "complex"),
    Forgiven(
        "bits of floats are not combined, of no elements either",
        "jnp.bitwise_*",
        "refuses",
        why="^TypeError",
        code="dtype='(float|bfloat|complex)",
    ),
    Forgiven("points are vectors, as in SciPy", "jsp.stats.multinomial.*", "refuses", "^AxisError"),
    Forgiven("an axis is an integer, as in NumPy", "jnp.packbits*", "refuses", "^TypeError"),
    Forgiven("of no elements a mode is refused too", "jnp.put*", "refuses", "^NotImplementedError"),
    Forgiven("matrices are square, as in SciPy", "jsp.linalg.hessenberg*", "refuses", "^MatrixSh"),
    Forgiven("XLA's algorithms, here emulated", "nn.dot_product_attention*", "accepts", "float16"),
    Forgiven("NaN is in no range, as in SciPy", "jsp.stats.uniform.*", "value", "nan"),
    Forgiven(
        "of many degrees of freedom and large numbers JAX's terms cancel, SciPy's do not",
        "jsp.stats.t.*|jsp.special.beta*",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "coefficients of numbers near a dtype's limits lose all digits",
        "jnp.polyfit* vjp|jnp.polyfit* jvp",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "more factors than reflections: LAPACK reads beyond the array",
        "lax.linalg.ormqr*",
        "refuses value",
        why="^ValueError|^EffaxError",
    ),
    Forgiven(
        "numbers that are not finite stay out of the half of a factor that is zero",
        "lax.linalg.cholesky_update*",
        "value",
        why="nan",
        values="extreme edges among",
    ),
    Forgiven(
        "a step more or less, where the last is next to nothing",
        "lax.linalg.qdwh*",
        "value",
        why=r"^\d+ instead of \d+$",
    ),
    Forgiven(
        "an infinite matrix has no singular vectors: LAPACK leaves what it has, or never ends",
        "*.svd*",
        "value",
        why=r"^\[*\(?nan",
        values="extreme edges among",
    ),
    Forgiven(
        "signs and phases jump where complex numbers are real",
        "*.linalg.svd*|*.linalg.qr*",
        "difference",
        dtypes=COMPLEX,
        values="positive few",
    ),
    Forgiven(
        "JAX leaves few bits out of many functions, as some platforms can't; XLA's CPU can",
        "*",
        "accepts",
        dtypes=f"int4 uint4 int2 uint2 {EIGHT_BITS}",
    ),
    Forgiven(
        "values that don't fit a place without elements: NumPy refuses them too",
        "Array.at[[]]*",
        "refuses",
        why="^ValueError",
    ),
    Forgiven(
        "a mask with more axes than the array: NumPy refuses it too, JAX sums some of its axes",
        "jnp.*",
        "refuses",
        why="^(ValueError|BroadcastError)",
        code="where=",
    ),
    Forgiven(
        "JAX negates integers without a sign as they are: -1 is the greatest",
        "nn.log1mexp*|nn.log_sigmoid*",
        "value",
        dtypes="uint8 uint16 uint32 uint64",
    ),
    Forgiven(
        "whether a tangent or cotangent is weak follows from the order of steps in JAX's rules",
        "* vjp|* jvp",
        "weak",
    ),
    Forgiven(
        "a number has no axis to keep: NumPy gives shape () too, JAX (1,)",
        "jnp.*median|jnp.*quantile|jnp.*percentile",
        "shape",
        why=r"\[\] instead of \w+\[1\]",
        code="keepdims=True",
    ),
    Forgiven(
        "polynomials have one axis: NumPy refuses two",
        "jnp.poly*",
        "refuses",
        why="^(ValueError|BroadcastError)",
    ),
    Forgiven(
        "no dimensions have no spacings: NumPy refuses them too",
        "jnp.gradient*",
        "refuses",
        why="^TypeError instead of nothing",
    ),
    Forgiven(
        "one bound for all singular values, as in NumPy's documentation",
        "jnp.linalg.lstsq*",
        "refuses",
        why="^TypeError",
        code=r"lstsq\(a, b, c\)|rcond=[a-c]\b",
    ),
    Forgiven(
        "a matrix called Hermitian is square: NumPy refuses others too",
        "jnp.linalg.matrix_rank*|jnp.linalg.svd*|jnp.linalg.pinv*",
        "refuses",
        why="^MatrixShapeError",
        code="hermitian=True",
    ),
    Forgiven(
        "one triangle is read, as by SciPy: a rolled matrix has two",
        "jsp.linalg.solve*|jsp.linalg.eigh*",
        "value",
        code=r"assume_a='(sym|her)'|linalg\.eigh\(",
    ),
    Forgiven(
        "a period of 0 is none: NumPy refuses it too",
        "jnp.interp*",
        "refuses",
        why="^ValueError",
        code="period=0",
    ),
    Forgiven(
        "rtol is relative to the largest singular value, as in NumPy",
        "jnp.linalg.matrix_rank*",
        "value",
        code="rtol=",
    ),
    Forgiven(
        "as many values as points along each axis: SciPy refuses others too",
        "jsp.interpolate.RegularGridInterpolator*",
        "refuses",
        why="^ValueError",
    ),
    Forgiven(
        "sizes, shapes and dtypes are no arrays, and what is filled like is one",
        "lax.broadcast|lax.full_like",
        "refuses",
        why="^(TypeError|ValueError)",
        code=r"broadcast\(a, b|full_like\(a, b, c|full_like\(\[",
    ),
    Forgiven(
        "shapes of convolutions are of integers, and as long as one another",
        "lax.conv_general_shape_tuple|lax.conv_transpose_shape_tuple",
        "refuses",
        why="^TypeError",
    ),
    Forgiven(
        "a list is true where the question is whether to keep dimensions",
        "*",
        "accepts",
        code=r"keepdims=\[",
    ),
    Forgiven(
        "an array without elements has a derivative neither",
        "lax.random_gamma_grad jvp|lax.random_gamma_grad vjp",
        "refuses",
        why="^UnsupportedDerivativeError",
    ),
    Forgiven(
        "of an order above the degree the harmonic is 0, as in SciPy",
        "jsp.special.sph_harm_y*",
        "value",
        why=r"^\[(-?0\.0(, )?)+\] instead of",
    ),
    Forgiven(
        "2 to the power of minus infinity is 0, whatever its imaginary part",
        "lax.exp2*",
        "value",
        why=r"0j.* instead of .*nan",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "open: gamma numbers of a batch, from an unbatched key of rbg, are not those of each lane",
        "random.*",
        "value",
        code=r"vmap.*rbg",
    ),
    Forgiven(
        "dtypes of products are free: a complex one of integers too",
        "jnp.vdot*|jnp.dot*|jnp.matmul*|jnp.inner*|jnp.tensordot*",
        "accepts",
        code="preferred_element_type='complex",
    ),
    Forgiven(
        "complex sums in a real dtype: JAX drops the imaginary parts without a word",
        "jnp.*",
        "refuses",
        why="^TypeError",
        code="preferred_element_type='(float|bfloat)",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "as many segments as rows are needed where a row has no elements, too",
        "jax.ops.segment_*",
        "refuses",
        why="^ValueError",
    ),
    Forgiven("NumPy takes lists of axes here", "jnp.*|nn.*", "accepts", code=r"axis[ab]?=\["),
    Forgiven(
        "places are counted by integers: NumPy refuses Booleans and floats too",
        "jnp.unravel_index*",
        "refuses",
        why="^TypeError",
        dtypes="bool float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz",
    ),
    Forgiven("shapes that differ are not equivalent", "jnp.array_equiv", "accepts"),
    Forgiven(
        "of an empty array no quantile is defined: NumPy refuses too",
        "jnp.*quantile*|jnp.*percentile*",
        "refuses",
        why="^ValueError",
    ),
    Forgiven(
        "a step of zero is the same error for all numbers: JAX's follows from their types",
        "jnp.arange*",
        "error",
        why="^ZeroDivisionError",
    ),
    Forgiven(
        "windows of a weak operand from a strong number: in JAX it matters whether the call is compiled",
        "lax.reduce_window*",
        "weak",
    ),
    Forgiven(
        "axes that are none are refused where an initializer is made, before its first call",
        "nn.initializers.*",
        "refuses",
        why="^TypeError instead of ",
    ),
    Forgiven(
        "lax takes Python numbers in the dtype of the other operands, here too",
        "lax.igamma*|lax.polygamma*|lax.zeta*|lax.betainc*|lax.random_gamma_grad*|lax.nextafter*|"
        "lax.mul*|lax.add*|lax.sub*|lax.div*|lax.max*|lax.min*|lax.rem*|lax.pow*|lax.clamp*|"
        "lax.shift_*|lax.le*|lax.lt*|lax.ge*|lax.gt*|lax.eq*|lax.ne*",
        "accepts",
        why="TypeError$",
        code=r"\W-?\d",
    ),
    Forgiven(
        "numbers that are no integers don't count places: NumPy refuses them too",
        "jnp.unravel_index*",
        "refuses accepts",
        why="^(ValueError|TypeError|float)",
    ),
    Forgiven(
        "NumPy takes single numbers, and nothing, here",
        "jnp.gradient*|jnp.meshgrid*|jnp.poly*|jnp.histogram2d*|jsp.signal.fftconvolve*",
        "accepts",
    ),
    Forgiven(
        "shapes that are equal up to ones are taken by lax, stacks of one shape by linear algebra",
        "lax.random_gamma_grad*|lax.linalg.triangular_solve*|lax.linalg.householder_product*|jsp.linalg.rsf2csf*",
        "refuses",
        why="^(BroadcastError|TypeError|ValueError)",
    ),
    Forgiven("a vector for each matrix: JAX makes one of all", "jsp.linalg.qr_multiply*", "shape"),
    Forgiven("stacks of matrices are taken", "jsp.linalg.expm_frechet*", "accepts"),
    Forgiven("of nothing SciPy returns real numbers", "jsp.signal.csd*", "dtype"),
    Forgiven("signals of two lengths: SciPy pads the shorter", "jsp.signal.csd*", "shape"),
    Forgiven(
        "singular values are real and strong, whatever a matrix without elements is",
        "jnp.linalg.lstsq*",
        "dtype weak",
    ),
    Forgiven("no equations for no unknowns have a solution", "jsp.sparse.linalg.*", "accepts"),
    Forgiven("functions are told apart by their names", "*", "value", why="<function"),
    Forgiven(
        "pivots that are no rows: nothing is said of them",
        "lax.linalg.lu_pivots_to_permutation*",
        "value",
        code=r"permutation\((?!jnp\.array\(\[[0-4, ]+\])",
    ),
    Forgiven(
        "lax.reduce takes numbers that the operand's dtype holds, of any dtype",
        "lax.reduce*",
        "accepts",
        why="TypeError$",
    ),
    Forgiven(
        "JAX repeats the last angle where there are fewer degrees",
        "jsp.special.sph_harm_y*",
        "refuses",
        why="^BroadcastError",
    ),
    Forgiven(
        "JAX computes these of wide floats only",
        "jsp.stats.*norm.*",
        "accepts",
        dtypes="float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz float16 "
        "bfloat16",
    ),
    Forgiven(
        "three units in the last place; the tangents are nearer to SciPy's than JAX's",
        "jsp.stats.norm.ppf* jvp",
        "value",
        why=r"^\[*[-\d]",
    ),
    Forgiven(
        "JAX takes two bits for no integers where it makes floats of integers",
        "*",
        "dtype",
        why="^float.* instead of u?int2",
        dtypes="int2 uint2",
    ),
    Forgiven(
        "a quotient's tangent, where a square or a quotient on the way is beyond the largest number",
        "jnp.divide* jvp|jnp.true_divide* jvp",
        "value",
        why="inf",
    ),
    Forgiven(
        "of low precision these are computed in float32, and JAX in it or in steps",
        "jsp.signal.stft*|jsp.fft.*dct*",
        "value dtype",
        dtypes="float16 bfloat16",
    ),
    Forgiven(
        "NaN for parameters that are NaN or no parameters, also outside of the support: SciPy's",
        "jsp.stats.beta.*|jsp.stats.binom.*|jsp.stats.chi2.*|jsp.stats.gamma.*",
        "value",
        why="nan",
    ),
    Forgiven(
        "JAX's own rules of derivatives, whose dtypes don't fit",
        "jsp.special.* jvp|jsp.special.* vjp|jsp.stats.gumbel* jvp|jsp.stats.gumbel* vjp",
        "accepts",
        why="TypeError$",
    ),
    Forgiven(
        "a triangular factor is read: JAX leaves what was beside it",
        "lax.linalg.cholesky_update*",
        "value",
        code=r"cholesky_update\((?!jnp\.linalg\.cholesky\(a, upper=True)",
    ),
    Forgiven(
        "matrices to decompose are square: JAX averages a row with its transpose",
        "lax.linalg.cholesky_update*|jnp.linalg.cholesky*",
        "refuses",
        why="^(TypeError|MatrixShapeError)",
    ),
    Forgiven(
        "names of methods are checked for arrays without elements too",
        "jnp.isin*",
        "refuses",
        why="^ValueError",
        code="method=",
    ),
    Forgiven(
        "any value says that elements are unique", "jnp.isin*", "accepts", code="isin.a, b, c"
    ),
    Forgiven(
        "tolerances of any shape, as in NumPy",
        "jnp.isclose*|jnp.allclose*",
        "accepts",
        why="TypeError$",
    ),
    Forgiven(
        "NumPy puts into a number, too", "jnp.put*", "accepts", why=r"\[\] instead of ValueError"
    ),
    Forgiven("of what is common, none", "jnp.intersect1d*|jnp.setxor1d*", "accepts", code="size=0"),
    Forgiven(
        "values that don't fit an array without elements: NumPy refuses them too",
        "jnp.insert*",
        "refuses",
        why="^BroadcastError",
    ),
    Forgiven(
        "the real part of a product follows from the imaginary parts of its factors",
        "lax.dot* vjp|lax.dot* jvp|lax.batch_matmul vjp",
        "value",
        code="preferred_element_type='float",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "bins of float32 between integers that it does not hold",
        "jnp.histogram*",
        "value",
        dtypes="uint32 int32 uint64 int64",
        values="among edges extreme",
    ),
    Forgiven(
        "signals of nothing, or of one element: SciPy's shapes",
        "jsp.signal.welch*|jsp.signal.csd*|jsp.signal.stft*",
        "shape accepts",
    ),
    Forgiven(
        "a Python number is one: True is 1 for NumPy too, and stays what it is",
        "lax.broadcast_shapes*|lax.squeeze*|lax.shape_as_value*|lax.stop_gradient*",
        "structure accepts",
    ),
    Forgiven(
        "values have to be known: reverse mode traces, and an index without elements is traced too",
        "jnp.array_split*|jnp.polydiv* vjp",
        "refuses",
        why="^ConcretizationTypeError",
    ),
    Forgiven(
        "matrices that are not square have no eigenvalues: NumPy and SciPy refuse them too",
        "jnp.linalg.eig*|jsp.linalg.eig*",
        "refuses",
        why="^(MatrixShapeError|ValueError)",
    ),
    Forgiven("orders are integers", "jsp.linalg.*hilbert*", "refuses", why="^TypeError"),
    Forgiven("a tuple is no array", "jsp.special.*", "refuses", why="^TypeError", code=r"\(\(\)"),
    Forgiven(
        "NumPy takes away leading axes of length 1",
        "Array.at[[]]*",
        "accepts",
        why="ValueError$",
    ),
    Forgiven(
        "nothing to sort by, to cut out or to combine: NumPy's answer",
        "jnp.lexsort*|jnp.delete*|jnp.piecewise*|lax.associative_scan*|jax.ops.segment_*",
        "accepts",
    ),
    Forgiven("NumPy takes lists of counts", "jsp.stats.multinomial.*", "accepts", why="TypeError$"),
    Forgiven(
        "a NaN is the last of all, where JAX sorts its bits before those of all numbers",
        "*sort*|*partition*|*unique*|*searchsorted*|*median*|*quantile*|*percentile*",
        "value",
        dtypes="float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz",
    ),
    Forgiven(
        "of a matrix that is not triangular nothing is said where it is called so",
        "jsp.linalg.expm*",
        "value",
        code="upper_triangular=True",
    ),
    Forgiven("methods that there are not", "jsp.linalg.expm_frechet*", "refuses", code="method="),
    Forgiven(
        "of low precision and Booleans: computed in wide floats, or as NumPy does",
        "jsp.sparse.linalg.*|jnp.var*|jnp.std*|Array.at[[]]*|Array.argpartition*|jnp.argpartition*",
        "value accepts",
        dtypes="bool float8_e5m2 float8_e4m3fn float16 bfloat16",
    ),
    Forgiven("variances in eight bits", "jnp.var* vjp|jnp.std* vjp", "value", code="dtype='float8"),
    Forgiven(
        "the smallest of inf + 1j alone is that, and JAX's is inf, with which it begins",
        "jax.ops.segment_min*|jax.ops.segment_max*",
        "value",
        why="inf",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "orders of exponential integrals are integers, by which there is no slope",
        "jsp.special.expn*",
        "difference",
    ),
    Forgiven(
        "norms of integers are floats, as NumPy's",
        "jnp.linalg.vector_norm*",
        "dtype value",
        dtypes="bool int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    ),
    Forgiven(
        "what is NumPy's or SciPy's answer, and JAX's own error",
        "jnp.ix_*|jsp.linalg.lu_factor*|jsp.linalg.hilbert*|jnp.linalg.vector_norm*",
        "accepts",
    ),
    Forgiven(
        "reflections by what is infinite are NaN, all of one or some",
        "lax.linalg.householder_product*",
        "value",
        why="nan",
    ),
    Forgiven(
        "no concentration is a circle's mean",
        "jsp.stats.vonmises.*",
        "value",
        why="nan",
    ),
    Forgiven(
        "eight bits are promoted where they are asked to be",
        "jsp.spatial.*",
        "refuses",
        why="^TypePromotionError",
    ),
    Forgiven("shapes that don't fit: NumPy refuses them too", "jnp.put_along_axis*", "refuses"),
    Forgiven("columns of two lengths: SciPy refuses them", "jsp.cluster.vq.*", "refuses"),
    Forgiven(
        "columns are polynomials here: JAX multiplies what broadcasts",
        "jnp.polyder*|jnp.polyint*",
        "shape value",
    ),
    Forgiven(
        "eigenvalues of tridiagonal matrices have derivatives backwards too",
        "jsp.linalg.eigh_tridiagonal vjp",
        "accepts",
    ),
    Forgiven(
        "one row has nothing beside it, as in SciPy",
        "jsp.linalg.eigh_tridiagonal*",
        "refuses",
        why="^(TypeError|ValueError)",
    ),
    Forgiven(
        "infinite eigenvalues are JAX's overflow, and so are their slopes",
        "jsp.linalg.eigh_tridiagonal*",
        "value",
        values="extreme edges among",
    ),
    Forgiven("as many windows as strides", "lax.padtype_to_pads", "refuses"),
    Forgiven("the dtype is the one asked for", "jnp.corrcoef*|jnp.cov*", "dtype", code="dtype="),
    Forgiven(
        "of real numbers, as in SciPy",
        "jsp.special.owens_t*|random.gamma*",
        "refuses",
        why="^(ComplexError|TypeError)",
        dtypes="complex64 complex128 float64",
    ),
    Forgiven(
        "sums that are infinite on the way follow from their order",
        "lax.conv*|jnp.convolve*|jnp.correlate*|jsp.signal.*|jsp.linalg.qr_multiply*|jnp.prod*|"
        "lax.linalg.ormqr*|nn.dot_product_attention*|lax.dot*",
        "value",
        why="inf|nan",
        values="extreme edges among",
    ),
    Forgiven("of nothing no place is taken", "jnp.take", "refuses", why=r"\(.*0.*\)"),
    Forgiven(
        "below 1 the zeta function is NaN, and so is its slope",
        "jsp.special.zeta* vjp|jsp.special.zeta* jvp|lax.zeta* vjp|lax.zeta* jvp",
        "value",
        why="nan",
    ),
    Forgiven(
        "of infinite orders SciPy's limit", "lax.igamma*", "value", why="nan", values="edges among"
    ),
    Forgiven(
        "conjugate gradients: residuals below what the dtype tells apart",
        "jsp.sparse.linalg.cg*",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "conjugate gradients: a rolled matrix is not definite", "jsp.sparse.linalg.cg vmap", "value"
    ),
    Forgiven("stacks of matrices are taken", "jsp.linalg.sqrtm*", "accepts"),
    Forgiven("steps that a matrix without numbers takes", "lax.linalg.qdwh*", "value", why="10"),
    Forgiven(
        "Booleans are places, as in SciPy",
        "jsp.ndimage.map_coordinates*",
        "accepts",
        why="TypeError$",
    ),
    Forgiven("of no unknowns nothing is minimized", "jsp.optimize.minimize*", "accepts"),
    Forgiven(
        "a whole number of samples, as in NumPy", "jnp.fft.*fftfreq*", "refuses", why="^ValueError"
    ),
    Forgiven(
        "how wide weak floats of 32 bits are where 64 are on, follows from numbers inside",
        "jsp.stats.*|jnp.*quantile|jnp.*percentile|jnp.*median",
        "dtype",
        why=r"float(64\*?\[.*float32|32\*?\[.*float64)",
    ),
    Forgiven(
        "of no whole number of trials: SciPy's is NaN", "jsp.stats.binom.*", "value", why="-inf"
    ),
    Forgiven(
        "no decomposition has numbers so narrow, of no matrices either",
        "jnp.linalg.*",
        "refuses",
        why="^NotImplementedError",
    ),
    Forgiven(
        "the dtype is the one asked for, as in NumPy", "jnp.*.reduceat*", "dtype", code="dtype="
    ),
    Forgiven(
        "the norm of nothing has no slope, as in JAX",
        "jnp.linalg.*norm*",
        "difference",
        why=r"\[nan\] instead of \[0\.0\]",
    ),
    Forgiven(
        "of nothing as many as asked for",
        "jnp.unique*",
        "shape",
        why=r"instead of .*\[0[],]",
        code="size=",
    ),
    Forgiven("a float that no byte holds, as in NumPy", "jnp.arange", "refuses", "^OverflowError"),
    Forgiven("None stands for a dtype, as in NumPy", "jnp.can_cast", "accepts", code="None"),
    Forgiven("lengths are not negative, as in NumPy", "jnp.fromfunction", "refuses", code="-"),
    Forgiven("an axis is an integer, as in NumPy", "jnp.unpackbits*", "refuses", "^TypeError"),
    Forgiven(
        "in eight bits a sum of a hundred terms is noise",
        "jsp.stats.poisson.entropy*",
        "value",
        dtypes="float8_e4m3fn float8_e5m2 float8_e4m3b11fnuz float8_e5m2fnuz float8_e4m3fnuz",
    ),
    Forgiven(
        "JAX's slope is 0",
        "jsp.special.spence* jvp|jsp.special.spence* vjp",
        "value",
        why=r"instead of.*\W-?0\.0\W",
    ),
    Forgiven(
        "an infinite element makes no NaN of others",
        "jsp.linalg.convolution_matrix*|jsp.linalg.toeplitz*|jsp.linalg.hankel*",
        "value",
        why="nan",
    ),
    Forgiven(
        "of infinite complex numbers one part may be known",
        "jnp.logaddexp*",
        "value",
        why="nan",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "JAX's terms of Bernoulli numbers are of low precision, SciPy's and these are not",
        "jsp.special.bernoulli",
        "value",
    ),
    Forgiven(
        "JAX's Bessel functions of half precision overflow",
        "jsp.special.bessel_jn*",
        "value",
        "nan",
    ),
    Forgiven("a complex number that is partly NaN has no order", "lax.clamp*", "value", why="nan"),
    Forgiven(
        "a scale is a real number: logarithms have branches",
        "jsp.stats.*",
        "value",
        code="scale=1j",
    ),
    Forgiven(
        "JAX's own derivative refuses axes in another order", "lax.broadcast_in_dim vjp", "accepts"
    ),
    Forgiven(
        "no size is a fraction, or negative: SciPy refuses it too", "jsp.linalg.dft", "refuses"
    ),
    Forgiven(
        "JAX drops imaginary parts of a parameter",
        "random.*",
        "refuses",
        "^TypeError",
        dtypes=COMPLEX,
    ),
    Forgiven("of integers too, as in SciPy", "jsp.linalg.funm*", "accepts"),
    Forgiven("of nothing nothing is left", "jnp.setdiff1d*", "accepts", code="size=0"),
    Forgiven("no Booleans in a row, as in NumPy", "jnp.arange", "accepts", code=r"arange\(0"),
    Forgiven("repetitions are a vector, as in NumPy", "jnp.repeat*", "refuses", "^BroadcastError"),
    Forgiven(
        "axes of what has none: only the mean and variance that are computed ask for them in JAX",
        "nn.standardize*",
        "refuses",
        "^AxisError",
    ),
    Forgiven("lists and tuples are arrays, as in NumPy", "nn.standardize|random.choice", "accepts"),
    Forgiven(
        "of nothing that is below 0 there is no share: SciPy's answer is 0",
        "lax.betainc*",
        "value",
        values="extreme edges among",
    ),
    Forgiven(
        "an infinite matrix has no derivative; JAX gives 0", "jsp.linalg.expm vjp", "value", "nan"
    ),
    Forgiven(
        "shapes of convolutions are of integers, and as long as one another",
        "lax.conv_shape_tuple",
        "refuses accepts",
    ),
    Forgiven(
        "where no event is expected the entropy is vertical; JAX's slope is 0",
        "jsp.stats.poisson.entropy*",
        "value",
        values="few edges among",
    ),
    Forgiven("sizes are integers, as in SciPy", "jsp.linalg.*pascal", "refuses", "^TypeError"),
    Forgiven(
        "a shape is of integers, and an array of one is given by its elements",
        "lax.broadcast_in_dim*",
        "refuses",
        "^TypeError",
    ),
    Forgiven(
        "complex derivatives that JAX has not",
        "jsp.special.loggamma vjp|lax.*window vjp",
        "accepts",
    ),
    Forgiven("polynomials are vectors, as in NumPy", "jnp.poly*", "shape", r"\[\d+, \d+"),
    Forgiven("results of `right` are as of `left`, strong", "jnp.interp*", "weak", "complex"),
    Forgiven(
        "quaternions are scaled before they are squared; JAX's overflow",
        "jsp.spatial.transform.*",
        "value",
        r"nan|instead of \[+0\.0, 0\.0",
        values="extreme edges among",
    ),
    Forgiven(
        "the size of a complex quaternion is that of its parts; JAX's squares are not absolute",
        "jsp.spatial.transform.*",
        "value",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "no numbers are no rotation", "jsp.spatial.transform.*", "refuses", "^ValueErr", r"\(\)"
    ),
    Forgiven(
        "half precision is solved in float32, whose infinities are other ones",
        "jnp.linalg.tensorsolve",
        "value",
        "nan",
        values="extreme edges among",
    ),
    Forgiven(
        "at an end of the support the slope is infinite times 0: NaN, as JAX's",
        "jsp.stats.beta.pdf",
        "difference",
        "nan",
    ),
    Forgiven(
        "of numbers beyond all pixels nothing is NaN in JAX",
        "jax.image.*",
        "value",
        "nan",
        values="extreme edges among",
    ),
    Forgiven("a shape has no negative lengths", "jax.image.*", "refuses", "^ValueError", r"-\d"),
    Forgiven(
        "left of the imaginary axis JAX's slope of acosh has the wrong sign",
        "jnp.a*cosh *|lax.acosh *",
        "value",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "JAX differentiates steps of a bisection; ours are differences of SciPy's eigenvalues",
        "jsp.linalg.eigh_tridiagonal *",
        "value",
        code="eigvals_only=True",
    ),
    Forgiven("eight bits overflow to NaN", "jsp.stats.pareto.*", "value", "nan", values="extreme"),
    Forgiven(
        "a NaN's cotangent is NaN",
        "jnp.fm?? vjp",
        "value",
        "nan",
        dtypes=COMPLEX,
        values="extreme edges among",
    ),
    Forgiven(
        "what overflows is NaN or infinite", "jsp.linalg.rsf2csf", "value", "nan", values="extreme"
    ),
    Forgiven(
        "numbers with and without a sign meet in float64",
        "jnp.interp*",
        "dtype",
        "^float64",
        dtypes="uint64",
    ),
    Forgiven("times of integers promote no rotation", "jsp.spatial.transform.*", "dtype"),
    Forgiven("of too few numbers a covariance is NaN, as in NumPy", "jnp.cov *", "value", "nan"),
    Forgiven("degrees of freedom are real, as in NumPy", "jnp.cov*", "refuses", "^TypeError", "1j"),
    Forgiven("NaN comes through", "jnp.linalg.slogdet*|jsp.stats.truncnorm.*", "value", "nan"),
    Forgiven(
        "the larger of a complex NaN and another is a NaN, as in NumPy; in JAX often the second",
        "jnp.*max*|jnp.*min*|jnp.ptp*|*.clip*|nn.relu*|lax.*max*|lax.*min*|lax.clamp*"
        "|Array.max*|Array.min*|Array.ptp*|large jnp.max*|large jnp.min*|large lax.cum*",
        "value",
        "nan",
        dtypes=COMPLEX,
    ),
    Forgiven("along no axes too floats, as in SciPy", "jsp.fft.*dctn*", "dtype", "int32|bool"),
    Forgiven("points have as many places as there are shares", "jsp.stats.multinomial*", "value"),
    Forgiven("a number as NumPy makes it, unsigned", "jnp.uint*", "accepts", code=r"\(-"),
    Forgiven("of windows in larger steps JAX has no derivative", "large pooled", "accepts"),
    Forgiven("JAX sorts two bits as if they had a sign", "*.sort*", "value", dtypes="uint2"),
    Forgiven(
        "eight bits are transformed in wide floats: JAX rounds its scale",
        "jsp.fft.*dct*",
        "value",
        dtypes=EIGHT_BITS,
    ),
    Forgiven(
        "eigenvectors have either sign",
        "jsp.linalg.eigh_tridiagonal*",
        "value",
        code=r"tridiagonal\(a, b\)\)\)|eigvals_only=False",
    ),
    Forgiven("times in no order have no interval between them", "*.Slerp", "value", code="-1\\]"),
    Forgiven(
        "a matrix that is not definite has no factor",
        "lax.linalg.cholesky_update*",
        "value",
        why="nan",
    ),
    Forgiven(
        "an axis is named once, as in NumPy", "jnp.gradient*", "refuses", "^ValueError", r"\(0, 0\)"
    ),
    Forgiven(
        "an argument that is said to be of different numbers has equal ones",
        "jnp.isin*",
        "value",
        code="assume_unique=True",
    ),
    Forgiven(
        "JAX's slope of a product with a power of two is 1 at 0",
        "jnp.ldexp jvp|jnp.ldexp vjp",
        "value",
    ),
    Forgiven(
        "padding is a number of the result, NaN or another",
        "jnp.setxor1d*",
        "value",
        "nan",
        code="size=(?!.*fill_value)",
    ),
    Forgiven(
        "a NaN's tangent is NaN",
        "jnp.divide* jvp|jnp.true_divide* jvp",
        "value",
        "nan",
        values="edges extreme among",
    ),
    Forgiven(
        "a quotient of the largest bfloat16: JAX flushes its reciprocal",
        "lax.div",
        "value",
        dtypes="bfloat16",
        values="extreme",
    ),
    Forgiven(
        "JAX's slope of i0 is 1 at 0",
        "jsp.special.i0 jvp|jnp.i0 jvp",
        "value",
        values="among edges",
    ),
    Forgiven(
        "a harmonic's order is at most its degree",
        "jsp.special.sph_harm_y*",
        "value",
        code=r"\[1\] \* 3\), jnp.array\(\[-5\]",
    ),
    Forgiven(
        "JAX's is NaN for the largest parameters",
        "jsp.special.gammainc*",
        "value",
        "nan",
        values="extreme",
    ),
    Forgiven(
        "tails of a density with heavy ones are rounded to 0 or to a unit",
        "jsp.stats.cauchy.*",
        "value",
        values="extreme",
    ),
    Forgiven(
        "no distribution has complex points",
        "jsp.stats.cauchy.*",
        "value",
        dtypes=COMPLEX,
    ),
    Forgiven("at -inf JAX's is NaN", "jsp.stats.pareto.*", "value", "nan", values="among"),
    Forgiven("of shares that are none a slope is NaN", "jsp.stats.wrapcauchy.* *", "value", "nan"),
    Forgiven(
        "the softmax of attention is in float32, as JAX's",
        "nn.dot_product_attention vmap",
        "value",
        dtypes="float64",
    ),
    Forgiven("-1 is no number without a sign", "nn.hard_tanh*", "value", dtypes="uint2 uint4"),
    Forgiven(
        "eight bits are summed in wide floats",
        "nn.log_softmax*|nn.softmax*",
        "value",
        "nan",
        dtypes=EIGHT_BITS,
    ),
    Forgiven(
        "what is infinite on one side is NaN or infinite",
        "jsp.linalg.lu_solve*",
        "value",
        "nan|inf",
        values="edges extreme among",
    ),
    Forgiven(
        "far from all points a density is 0; JAX's is NaN",
        "jsp.stats.gaussian_kde*",
        "value",
        "nan",
    ),
    Forgiven(
        "lgamma is 0 at 1 and 2; JAX's is 9e-16",
        "lax.lgamma",
        "value",
        dtypes="float64",
        values="edges",
    ),
    Forgiven(
        "what overflows is infinite or NaN", "large lax.conv*", "value", "nan", values="extreme"
    ),
    Forgiven(
        "a tolerance that leaves no singular value",
        "jnp.linalg.lstsq*",
        "difference",
        code="rcond=True",
    ),
    Forgiven(
        "of equal numbers each has half of the slope",
        "jnp.fm?? vjp",
        "value",
        values="few extreme",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "of no numbers a correlation is NaN, and so is its slope", "jnp.corrcoef *", "value", "nan"
    ),
    Forgiven(
        "at complex infinities a slope is NaN; JAX's is 0",
        "jnp.atanh *",
        "value",
        "nan",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "a matrix that is said to be triangular is not",
        "jsp.linalg.expm*",
        "value",
        code=r"upper_triangular=\(",
    ),
    Forgiven("a system that has no solution", "jsp.sparse.linalg.gmres*", "value", "nan"),
    Forgiven("the transform of no numbers", "jnp.fft.rfftn*", "dtype", code=r"rfftn\(a, b\)"),
    Forgiven("of no numbers the dtype is that of others", "jsp.signal.welch*", "dtype", r"\[0\]"),
    Forgiven(
        "a weak array stays in its dtype", "large jnp.median*|lax.linalg.qr*", "dtype", "^float32"
    ),
    Forgiven("as weak as the values", "jsp.special.kl_div*|jsp.stats.multivariate*", "weak"),
    Forgiven(
        "an imaginary part is not dropped in silence",
        "jnp.full_like*|random.gamma*",
        "refuses",
        "^TypeError",
        "1j",
    ),
    Forgiven("indices outside are refused, as in NumPy", "jnp.delete*", "refuses", "^TypeError"),
    Forgiven("no kernel of eight bits", "jsp.linalg.det*", "refuses", "^NotImplementedError"),
    Forgiven(
        "eight bits and wide floats are not mixed unasked",
        "jnp.setdiff1d*|jnp.cov*|jsp.signal.*",
        "refuses",
        "^TypePromotionError",
    ),
    Forgiven("weights are as many as observations", "jnp.cov*", "refuses", "^RuntimeError"),
    Forgiven(
        "numbers of entries are integers", "jnp.pad*|jnp.r_*|lax.*iota*", "refuses", "^TypeError"
    ),
    Forgiven("a number has no axes, as in NumPy", "jnp.repeat*", "refuses", "^AxisError"),
    Forgiven("axes are Python integers", "lax.expand_dims*", "refuses", "^TracerInteger"),
    Forgiven("methods are checked for no draws too", "random.choice*", "refuses", "^ValueError"),
    Forgiven("padding is of as many axes as strides", "lax.conv_general_shape_tuple*", "refuses"),
    Forgiven(
        "Python numbers take the dtype of the others",
        "large lax.div|large lax.pow|lax.complex|lax.select_n",
        "accepts",
        "TypeError$",
    ),
    Forgiven(
        "JAX mixes weak float32 and float64 in its own sums",
        "lax.bessel_i0e*|jsp.special.i0*",
        "accepts",
        "TypeError$",
    ),
    Forgiven(
        "dtypes that hold the values",
        "jnp.arange*|jsp.linalg.hadamard*|jnp.fft.rfftfreq*",
        "accepts",
    ),
    Forgiven(
        "what has no elements has a result",
        "jnp.intersect1d*|jsp.linalg.det*|random.dirichlet*",
        "accepts",
    ),
    Forgiven("shapes that broadcast", "random.f", "accepts"),
    Forgiven("triangular float16 needs no factors", "jsp.linalg.expm*", "accepts"),
    Forgiven("2^31 counts are more than memory holds", "jnp.bincount", "crash", values="extreme"),
    Forgiven(
        "JAX's trigamma is wrong left of 0",
        "jsp.special.digamma jvp|jsp.special.digamma vjp",
        "value",
        values="within",
    ),
    Forgiven("NaN is the last in order", "jnp.partition*", "value", "nan", dtypes="float8_e4m3fn"),
    Forgiven("outside of its domain a slope is NaN", "jsp.special.entr *", "value", "nan"),
    Forgiven(
        "of parameters that are none a slope is NaN", "jsp.stats.betabinom.* *", "value", "nan"
    ),
    Forgiven(
        "JAX's slope is 0 where the parameter is", "jsp.special.boxcox* *", "value", values="few"
    ),
    Forgiven(
        "complex infinities, as C has them",
        "lax.expm1*",
        "value",
        "nan",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "complex numbers near the largest, and on a cut",
        "nn.softplus|jnp.arctan2",
        "value",
        values="extreme edges",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "a transform of the largest numbers overflows",
        "jsp.fft.*dct*",
        "value",
        "nan",
        values="extreme",
    ),
    Forgiven(
        "a Boolean is a number of 32 bits alone too",
        "jnp.linalg.vector_norm*",
        "dtype",
        code="True",
    ),
    Forgiven("a number alone is made a float too", "jsp.fft.*dctn*", "dtype"),
    Forgiven("one axis, an integer", "jnp.trapezoid*|jnp.vsplit*", "refuses", "^TypeError"),
    Forgiven(
        "two bits and floats are not mixed unasked",
        "jsp.stats.multinomial*",
        "refuses",
        "^TypePromotionError",
    ),
    Forgiven("lengths are Python integers, and not negative", "lax.shape_as_value*", "refuses"),
    Forgiven("no imaginary shapes", "random.generalized_normal*", "refuses", "^TypeError", "1j"),
    Forgiven(
        "the full convolution is of any shapes, as in SciPy", "jsp.signal.convolve2d*", "accepts"
    ),
    Forgiven(
        "beyond the last time is no interval: SciPy refuses it", "*.Slerp*", "value", code=r"3\.0\]"
    ),
    Forgiven(
        "quantiles of float32 have its digits, of whatever dtype",
        "jsp.stats.norm.ppf",
        "value",
        dtypes="float32",
    ),
    Forgiven(
        "at 0 it is 1 / (n - 1), at infinity 0", "jsp.special.expn*", "value", values="among edges"
    ),
    Forgiven(
        "shares that are none have no quantile",
        "jsp.stats.*.isf *|jsp.stats.*.ppf *",
        "value",
        "^nan",
        values="among",
    ),
    Forgiven(
        "at infinity a density is 0",
        "jsp.stats.gumbel*",
        "value",
        "nan",
        values="among edges extreme",
    ),
    Forgiven("the order of NaNs among the largest is open", "lax.approx_m*", "value", "nan"),
    Forgiven(
        "a complex NaN is true, as in NumPy",
        "lax.convert_element_type*",
        "value",
        code="bool_",
        dtypes=COMPLEX,
    ),
    Forgiven(
        "at infinity a slope is 0",
        "lax.random_gamma_grad*",
        "value",
        "nan",
        values="among edges extreme",
    ),
    Forgiven(
        "the cosine of a large result hangs on its last bit",
        "jsp.special.i0 vjp",
        "value",
        values="within",
    ),
    Forgiven("texts are no Booleans", "jnp.bool*|jnp.int*|jnp.uint*", "refuses", "^TypeError"),
    Forgiven(
        "equal numbers come in any order, unless it is to be stable",
        "jnp.argsort*",
        "value",
        code="stable=False",
    ),
    Forgiven(
        "subnormal numbers are 0 in what is compiled",
        "jnp.bool_ vmap",
        "value",
        dtypes=COMPLEX,
        values="edges",
    ),
    Forgiven(
        "JAX's powers fall short of a whole number, and are cut",
        "jnp.geomspace",
        "value",
        code="int",
    ),
    Forgiven(
        "a number on an edge that is rounded: JAX's", "jnp.histogram", "value", dtypes="bool uint64"
    ),
    Forgiven(
        "the matrix has no digits between its extremes",
        "jnp.linalg.eig|jnp.linalg.tensorinv",
        "value",
        values="extreme",
    ),
    Forgiven(
        "a weight of 0 lets infinity be", "jsp.interpolate.Reg*", "value", "nan", values="edges"
    ),
    Forgiven(
        "eigenvectors have any sign",
        "jsp.linalg.eigh_tridiagonal*",
        "value",
        code="eigvals_only=None",
    ),
    Forgiven(
        "JAX's slope is NaN or not where a limit is infinite",
        "jsp.special.boxcox *",
        "value",
        "nan",
        values="extreme",
    ),
    Forgiven("the cotangent is NaN", "jsp.special.ndtri vjp", "value", "^.nan", values="among"),
    Forgiven(
        "there are no more successes than attempts",
        "jsp.stats.binom.pmf *",
        "value",
        code="binom.pmf.a, b",
    ),
    Forgiven(
        "of shares and scales that are none a slope is NaN",
        "jsp.stats.cauchy.ppf *|jsp.stats.expon.* *",
        "value",
        "nan",
    ),
    Forgiven(
        "the probability of no number is no number",
        "jsp.stats.poisson.pmf",
        "value",
        "nan",
        values="among",
    ),
    Forgiven("JAX's sum of infinity and 1j is NaN", "*jnp.logaddexp", "value", "nan", code="1j"),
    Forgiven(
        "NumPy has the same sign where the imaginary part is -0",
        "lax.acos|lax.asin",
        "value",
        dtypes=COMPLEX,
        values="edges",
    ),
    Forgiven(
        "which of equal numbers is the largest is open", "lax.approx_m* jit", "value", values="few"
    ),
    Forgiven("beyond all numbers a slope is 0", "lax.igamma_grad_a", "value", values="extreme"),
    Forgiven(
        "differences of unsigned numbers wrap around", "nn.softmax", "value", "nan", dtypes="uint64"
    ),
    Forgiven(
        "the largest mean leaves a sample no digits, as JAX's",
        "random.wald",
        "value",
        values="extreme",
    ),
    Forgiven(
        "the phases of complex vectors are free", "lax.linalg.svd", "difference", dtypes=COMPLEX
    ),
    Forgiven(
        "a number has no axes to keep, as in NumPy",
        "jnp.percentile",
        "shape",
        code=r"percentile.0\.5",
    ),
    Forgiven(
        "an imaginary number among floats is strong",
        "jsp.stats.logistic.*|nn.mish",
        "weak",
        code="1j",
    ),
    Forgiven("a tuple is no axis, as in NumPy", "jnp.cross", "refuses", "^TypeError"),
    Forgiven("positions to split at are integers", "jnp.dsplit", "refuses", "^Concretization"),
    Forgiven(
        "no numbers have no mean, as in NumPy", "jnp.pad", "refuses", "^ValueError", "stat_length"
    ),
    Forgiven("Booleans are no coefficients", "jnp.polyadd", "refuses", "^TypeError"),
    Forgiven("eight bits meet no complex number", "jsp.linalg.sqrtm", "refuses", "^TypePromotion"),
    Forgiven("defined of real numbers", "jsp.special.owens_t", "refuses", "^ComplexError"),
    Forgiven("logarithms of sums are of floats", "*lax.cumlogsumexp", "refuses", "^TypeError"),
    Forgiven(
        "an axis is an integer",
        "*lax.cummax|lax.concatenate|lax.dynamic_*index_in_dim",
        "refuses",
        "^T",
    ),
    Forgiven("padding has two sides", "lax.conv_transpose_shape_tuple", "refuses", "^ValueError"),
    Forgiven(
        "a place that is dropped needs not be there",
        "Array.at*.subtract*",
        "accepts",
        "^complex.*IndexError",
        "drop",
    ),
    Forgiven(
        "of no numbers there is a result",
        "jax.image.resize|jnp.corrcoef|jnp.linalg.pinv*|jsp.linalg.cholesky|random.geometric",
        "accepts",
    ),
    Forgiven("indices may be Booleans", "jnp.fromfunction", "accepts", code="bool"),
    Forgiven("two bits are cut", "jnp.int2", "accepts"),
    Forgiven("the shape is known", "jnp.unique_counts vmap", "accepts"),
    Forgiven(
        "transforms of bfloat16 are of float32", "jsp.signal.istft", "accepts", dtypes="bfloat16"
    ),
    Forgiven(
        "off the symmetric matrices half of one is read",
        "jsp.linalg.solve",
        "difference",
        code="pos",
    ),
    Forgiven(
        "eight bits are no system",
        "jsp.linalg.solve_triangular",
        "refuses",
        "^NotImpl",
        dtypes=EIGHT_BITS,
    ),
    Forgiven("a Boolean is 1", "lax.select", "accepts", "TypeError", "True"),
    Forgiven("SciPy's is infinite at infinity", "jsp.special.poch*", "value", "inf"),
    Forgiven("eight bits are often equal", "lax.clamp", "difference", dtypes=EIGHT_BITS),
    Forgiven(
        "what lies outside is left out, not multiplied by infinity",
        "large lax.conv*",
        "value",
        "nan",
        values="edges extreme",
    ),
    Forgiven("infinity times False is NaN", "jnp.vdot*", "value", "^nan", dtypes="bool"),
    Forgiven("a length is an integer, as in NumPy", "jnp.fft.*fftfreq", "shape"),
    Forgiven("JAX leaves the fill out", "jnp.flatnonzero*", "value", "-1", dtypes=EIGHT_BITS),
    Forgiven("one observation has no deviation", "jnp.cov", "value", "nan"),
    Forgiven("the last digit", "jsp.stats.norm.isf", "value", r"^-?0\.\d+ "),
    Forgiven(
        "scales of more axes than one are a mistake",
        "jax.image.scale_and_translate",
        "refuses",
        "^ValueError",
    ),
    Forgiven(
        "of an empty set JAX gives the other's first", "jnp.intersect1d*", "value", code="size="
    ),
    Forgiven(
        "as often as -2 is a mistake in NumPy", "Array.repeat|jnp.repeat", "value", code=r"\(-"
    ),
    Forgiven(
        "weights below 0 are a mistake in NumPy",
        "jnp.cov",
        "value",
        code="weights=",
        values="normal",
    ),
    Forgiven("an eigenvector of either sign", "jsp.linalg.eigh_tridiagonal", "value"),
    Forgiven("cosines of numbers of many digits", "jsp.special.poch vjp", "value", r"\d{5}\.|e\+"),
    Forgiven("numbers next to nothing", "jsp.special.sici *", "value", "e-3", values="extreme"),
    Forgiven("of |m| > n there are none", "jsp.special.sph_harm_y *", "value", r"-?0j"),
    Forgiven("NaN in JAX", "large lax.cumlogsumexp*", "value", "of nan|nan,", dtypes=EIGHT_BITS),
    Forgiven("NaN in JAX", "large nn.softmax*", "value", "nan", dtypes="uint8 uint16 uint32"),
    Forgiven("JAX's four bits are 0", "lax.mulhi*", "value", dtypes="int4 uint4 int2 uint2"),
    Forgiven("squares overflow in JAX", "nn.standardize*", "value", code="mean=", values="extreme"),
    Forgiven("one number has no slope of its deviation", "jsp.stats.sem", "difference", "nan"),
    Forgiven("no elements, no places", "Array.at*", "refuses", "^IndexError"),
    Forgiven("axes in a list in a list", "jnp.apply_over_axes", "refuses", code=r"\[\["),
    Forgiven(
        "narrower than the other operand", "jnp.inner*", "refuses", code="preferred_element_type"
    ),
    Forgiven("the least number where there is no infinity", "jax.ops.segment_m*", "value", "nan"),
    Forgiven("parts of numbers of many digits", "jsp.signal.detrend*", "value", values="extreme"),
    Forgiven(
        "JAX's empty arrays have no fill",
        "Array.nonzero*|jnp.*nonzero*|jnp.argwhere*|jnp.where*",
        "value",
        code="fill_value=-1",
    ),
    Forgiven("an axis is an integer", "lax.cum*|lax.dynamic_*_in_dim", "refuses", code=r"-?\d\.5"),
    Forgiven("counts are real", "random.binomial", "refuses", code=r"\dj"),
    Forgiven(
        "lists are refused, as elsewhere",
        "jsp.special.hyp2f1|nn.dot_product_attention",
        "refuses",
        "^TypeError",
    ),
    Forgiven(
        "few digits beside a pole", "jsp.stats.cauchy.isf *", "value", dtypes="float16 bfloat16"
    ),
    Forgiven("strides above 0", "lax.reduce_window_shape_tuple", "refuses", code=r"\(-"),
    Forgiven("beside a pole", "jsp.special.gamma vjp", "value", dtypes=COMPLEX, values="among"),
    Forgiven(
        "of numbers that overflow", "large nn.softplus*", "value", dtypes=COMPLEX, values="bits"
    ),
    Forgiven(
        "of equal numbers any may be first",
        "lax.approx_m*",
        "value",
        why=r"^[\[\]\d, ]+ instead",
        code=r"_k\(a, 1\)",
        dtypes="float32 float64 float16 bfloat16",
    ),
    Forgiven(
        "one number lies on an edge of a compiled bin", "jnp.histogram", "value", code=r"gram\(a\)$"
    ),
    Forgiven("a NaN's tangent is NaN", "jnp.min jvp|jnp.max jvp", "value", "^nan instead"),
    Forgiven(
        "of one sample there is no area", "jsp.integrate.trapezoid", "value", "0.0.* of nan|nan"
    ),
    Forgiven(
        "JAX's slope of eigenvalues chosen by number is wrong, by differences of SciPy's",
        "jsp.linalg.eigh_tridiagonal *",
        "value",
        code="select=",
    ),
    Forgiven(
        "a recurrence that does not reach so far has no digits",
        "jsp.special.bessel_jn*",
        "value",
        values="extreme edges among bits within",
        why="nan",
    ),
    Forgiven(
        "trigamma is positive on the left too",
        "lax.digamma vjp|lax.digamma jvp|jsp.special.digamma vjp|jsp.special.digamma jvp",
        "value",
    ),
    Forgiven(
        "exponents of more than six bits, and what wraps around",
        "jnp.power*",
        "value",
        dtypes="int8 int16 int32 int64 uint8 uint16 uint32 uint64",
        values="extreme",
    ),
    Forgiven(
        "what is infinite on the way is NaN in some elements",
        "jsp.linalg.solve_sylvester*|lax.batch_matmul*|jnp.linalg.tensorsolve*",
        "value",
        why="nan|inf",
        values="extreme",
    ),
    Forgiven(
        "numbers below 0 don't fit, as NumPy says", "jnp.full*", "refuses", why="^OverflowError"
    ),
]


def forgiven(function: str, kind: str, case: Case, why: str) -> str:
    """The reason to let a difference pass, or ""."""
    return next((f.reason for f in TABLE if f.covers(function, kind, case, why)), "")
