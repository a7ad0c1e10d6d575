"""Cases that the grid found: each was answered otherwise than by JAX once."""

from __future__ import annotations

from tests.grid.case import Operand
from tests.grid.draw import Grid
from tests.grid.play import Drawer, Entry

EDGES = "among:nan:inf:-inf:0:-0.0:1:-1:2"


Given = tuple[str, tuple[int, ...], str] | tuple[str, tuple[int, ...], str, str]
"""A dtype, a shape, a kind of values, and a form other than "array"."""


def fixed(code: str, *operands: Given) -> Drawer:
    """A case that is always the same, with and without 64 bits."""

    def drawer(g: Grid, name: str) -> str:
        for i, (dtype, shape, kind, *form) in enumerate(operands):
            g.operands.append(Operand(dtype, shape, kind, i, *form))
        return code

    return drawer


def _entry(code: str, *operands: Given, slack: float = 4, smooth: bool = True) -> Entry:
    return Entry(fixed(code, *operands), wide=False, slack=slack, either=True, smooth=smooth)


_FLOATS = "hard_sigmoid hard_silu relu6 selu sparse_plus sparse_sigmoid sigmoid silu log_sigmoid leaky_relu"
_NUMBERS = "mish softplus soft_sign squareplus log_sigmoid softmax log_softmax"
_F = ("float32", (3,), "normal")
_I = ("int32", (3,), "normal")
_B = ("bool", (3,), "normal")
_E = ("float32", (9,), "among:nan:0:-0.0:1:-1:2")
_X = ("float32", (2, 3, 4), "normal")
_C = ("complex64", (3,), "normal")
_ROWS = "jnp.array([[1], [1]]), b, lax.ScatterDimensionNumbers((1,), (0,), (0,))"
_PRODUCT = "lax.dot_general(a, b, (((1,), (0,)), ((), ()))"
_UNIT = ("float32", (7,), "within:0:1")
_COUNTS = ("int32", (7,), "index:0:4")
_NONE = ("float32", (7,), "among:0:-1:nan:2:0.5")

TABLE = {
    # Types and shapes.
    "convert_element_type to float": _entry("lax.convert_element_type(a, float)", _I),
    "convert_element_type to None": _entry("lax.convert_element_type(a, None)", _I),
    "convert_element_type of a complex number": _entry("lax.convert_element_type(1j, int)"),
    "bitcast to itself": _entry("lax.bitcast_convert_type(a, 'complex64')", _C, smooth=False),
    "bitcast that does not fit": _entry("lax.bitcast_convert_type(a, 'float64')", _B),
    "NaN without mantissa": _entry("lax.reduce_precision(a, 8, 0)", ("float32", (9,), EDGES)),
    "clamp of complex numbers": _entry("lax.clamp(a, b, c)", _C, _C, _C, smooth=False),
    "clamp of Booleans": _entry("lax.clamp(a, b, c)", _B, _B, _B),
    "select_n of nothing": _entry("lax.select_n(a)", _B),
    "broadcast_in_dim that turns": _entry("lax.broadcast_in_dim(a, (4, 3, 2), (2, 1, 0))", _X),
    "broadcast to a number": _entry("lax.broadcast(a, 5)", _F),
    "broadcast_like of what is larger": _entry("lax.broadcast_like(a, 1.0)", _F),
    "rev of negative axes": _entry("lax.rev(a, (-1,))", _X),
    "rev of one axis twice": _entry("lax.rev(a, (0, 0))", _X),
    "concatenate along the last": _entry("lax.concatenate([a, a], -1)", _X),
    "tile of too few counts": _entry("lax.tile(a, (2,))", _X),
    "iota along the last": _entry("lax.broadcasted_iota('int32', (2, 3), -1)"),
    "pad by an array": _entry("lax.pad(a, b, [(1, 1, 0)])", _F, ("float32", (1,), "normal")),
    "pad by too little": _entry("lax.pad(a, np.float32(0), [(-4, 0, 0)])", _F),
    "slice of too few axes": _entry("lax.slice(a, (0, 0), (1, 1))", _X),
    "index that is not there": _entry("lax.index_in_dim(a, 5)", _F),
    "axis that is not there": _entry("lax.dynamic_index_in_dim(a, 0, 3)", _X),
    "starts of several dtypes": _entry(
        "lax.dynamic_slice(a, [np.int8(1), np.uint8(2), 0], (1, 1, 1))", _X
    ),
    "starts that are floats": _entry("lax.dynamic_slice(a, (0.0, 0, 0), (1, 1, 1))", _X),
    "starts that may not be negative": _entry(
        "lax.dynamic_slice(a, (-1,), (1,), allow_negative_indices=False)", _F
    ),
    "scatter_min of complex numbers": _entry(
        f"lax.scatter_min(a, {_ROWS})",
        ("complex64", (3, 4), "normal"),
        ("complex64", (2, 4), "normal"),
    ),
    "scatter_add of Booleans": _entry(
        f"lax.scatter_add(a, {_ROWS})", ("bool", (3, 4), "normal"), ("bool", (2, 4), "normal")
    ),
    # Folds and products.
    "sum along the last": _entry("lax.reduce_sum(a, (-1,))", _X),
    "cumsum along the last": _entry("lax.cumsum(a, -1)", _X),
    "argmax along the last": _entry("lax.argmax(a, -1, 'int32')", _X),
    "window of too few axes": _entry("lax.reduce_window(a, 0.0, lax.add, (2,), (1,), 'VALID')", _X),
    "padding of no kind": _entry("lax.padtype_to_pads((5,), (3,), (1,), 'FOO')"),
    "top_k of a number": _entry("lax.top_k(1.0, 1)"),
    "approximately the largest integers": _entry("lax.approx_min_k(a, 1)", _I),
    "product of two dtypes": _entry(
        f"{_PRODUCT})", ("int8", (2, 3), "normal"), ("bfloat16", (3, 2), "normal")
    ),
    "product of two halves": _entry(
        f"{_PRODUCT})", ("float16", (2, 3), "normal"), ("bfloat16", (3, 2), "normal"), slack=8
    ),
    "product summed in integers": _entry(
        f"{_PRODUCT}, preferred_element_type='int32')",
        ("float32", (2, 3), "few"),
        ("float32", (3, 2), "few"),
        smooth=False,
    ),
    "product summed in narrower integers": _entry(
        f"{_PRODUCT}, preferred_element_type='int8')",
        ("int32", (2, 3), "few"),
        ("int32", (3, 2), "few"),
    ),
    "real part of a product": _entry(
        f"{_PRODUCT}, preferred_element_type='float32')",
        ("complex64", (2, 3), "normal"),
        ("complex64", (3, 2), "normal"),
        smooth=False,
    ),
    "dot of what does not fit": _entry("lax.dot(a, b)", _F, ("float32", (4,), "normal")),
    # Matrices.
    "triangular_solve in float16": _entry(
        "lax.linalg.triangular_solve(a, b, left_side=True)",
        ("float16", (3, 3), "definite"),
        ("float16", (3, 2), "normal"),
    ),
    "eig of no square": _entry("lax.linalg.eig(a)", ("float32", (3, 4), "normal")),
    "steps of qdwh": _entry("lax.linalg.qdwh(a)[2:]", ("float32", (3, 3), "regular")),
    # nn, ops, trees.
    **{f"{name} of integers": _entry(f"nn.{name}(a)", _I) for name in _FLOATS.split()},
    **{f"{name} of Booleans": _entry(f"nn.{name}(a)", _B) for name in _NUMBERS.split()},
    "elu with an integer": _entry("nn.elu(a, 2)", _I),
    "leaky_relu with an integer": _entry("nn.leaky_relu(a, 2)", _I),
    "elu of a list": _entry("nn.elu([1.0, 2.0])"),
    "gelu of a number": _entry("nn.gelu(0.5)"),
    "one_hot of Booleans": _entry("nn.one_hot(a, 2)", _B),
    "lengths that are floats": _entry(
        "nn.dot_product_attention(a, a, a, query_seq_lengths=jnp.ones(2))",
        ("float32", (2, 3, 1, 4), "normal"),
    ),
    "weights that are integers": _entry(
        "nn.initializers.glorot_normal()(random.key(0), (3, 4), 'int32')"
    ),
    "constant that does not fit": _entry(
        "nn.initializers.constant(a)(random.key(0), (3, 4))", ("float32", (2,), "normal")
    ),
    "segments of floats": _entry("jax.ops.segment_sum(a, b, 3)", _F, _F),
    "segments of two axes": _entry(
        "jax.ops.segment_sum(a, b, 3)", ("float32", (3, 2), "normal"), ("int32", (3, 2), "few")
    ),
    "segments of another length": _entry(
        "jax.ops.segment_sum(a, b, 3)", _F, ("int32", (2,), "few")
    ),
    "sums of Booleans": _entry("jax.ops.segment_sum(a, jnp.array([0, 1, 0]), 2)", _B),
    "raveled nothing": _entry("jax.flatten_util.ravel_pytree([])[0]"),
    # Derivatives: of these the differences are asked.
    "Kummer's function where its series ends": _entry(
        "jsp.special.hyp1f1(a, a, b)",
        ("float32", (3,), "positive"),
        ("float32", (3,), "within:-1:0"),
        slack=200,
    ),
    "NaN among entropies": _entry("jsp.special.rel_entr(a, b)", _E, _E),
    "harmonics beyond pi": _entry(
        "jsp.special.sph_harm_y(jnp.array([4] * 3), jnp.array([3] * 3), a, a)",
        ("float32", (3,), "within:3.2:6"),
        slack=100,
        smooth=False,
    ),
    "two frequencies": _entry("jnp.fft.rfftfreq(2)"),
    "spectra of narrow data": _entry(
        "jsp.signal.stft(a, nperseg=4)[0]", ("float32", (8,), "normal")
    ),
    "Owen's function of integers": _entry("jsp.special.owens_t(a, a)", _I),
    # Parameters that are none, and weak results.
    "beta of no parameter": _entry("jsp.stats.beta.logpdf(a, 2.0, b)", _UNIT, _NONE, smooth=False),
    "beta of no scale": _entry("jsp.stats.beta.logpdf(a, 2.0, 3.0, scale=b)", _UNIT, _NONE),
    "beta binomials of no parameter": _entry(
        "jsp.stats.betabinom.logpmf(a, 9, 2.0, b)", _COUNTS, _NONE, slack=100
    ),
    "binomials of no chance": _entry("jsp.stats.binom.logpmf(a, 3, b)", _COUNTS, _NONE),
    "gamma of no parameter": _entry("jsp.stats.gamma.logcdf(a, b)", _UNIT, _NONE, smooth=False),
    "gamma of no scale": _entry("jsp.stats.gamma.logpdf(a, 2.0, scale=b)", _UNIT, _NONE),
    "exponentials of no scale": _entry("jsp.stats.expon.logsf(a, scale=b)", _UNIT, _NONE),
    "Gumbel's of no scale": _entry("jsp.stats.gumbel_l.logpdf(a, scale=b)", _UNIT, _NONE),
    "Pareto's of no scale": _entry("jsp.stats.pareto.cdf(a, 2.0, scale=b)", _UNIT, _NONE),
    "Pareto's that fall at once": _entry(
        "jsp.stats.pareto.sf(a, b)",
        ("float32", (4,), "within:1:9"),
        ("float32", (4,), "among:inf:1:0.5"),
    ),
    "Poisson's of no rate": _entry("jsp.stats.poisson.logpmf(a, b)", _COUNTS, _NONE),
    "Von Mises's of no concentration": _entry("jsp.stats.vonmises.logpdf(a, b)", _UNIT, _NONE),
    "a density of numbers": _entry("jsp.stats.gamma.pdf(2.0, 3.0)"),
    "a quantile of a number": _entry("jsp.stats.uniform.ppf(0.25)"),
    "weakness of densities": _entry("jsp.stats.gamma.logpdf(a, 0.5)", _COUNTS),
    "weakness of exponentials": _entry("jsp.stats.expon.pdf(a, 0.5)", _COUNTS),
    # Complex numbers.
    "gamma of complex numbers": _entry(
        "jsp.special.gamma(a), jsp.special.loggamma(a)",
        ("complex64", (9,), "within:-4:4"),
        slack=30,
    ),
    "transformed complex numbers": _entry("jsp.special.boxcox(a, b), jsp.special.expit(a)", _C, _C),
    "a weak complex number": _entry("jsp.special.wofz(0.5 + 1j)", slack=30),
    # Types and classes of errors.
    "arguments that do not broadcast": _entry("jsp.special.xlogy(a, jnp.ones(2))", _F),
    "a mask over integers": _entry(
        "nn.log_softmax(a, where=b), nn.logsumexp(b, where=b)", _I, _B, smooth=False
    ),
    "standardized by numbers": _entry("nn.standardize(a, mean=0.5, variance=2.0)", _I),
    "a transform of small floats": _entry(
        "jsp.fft.dctn(a)", ("float16", (5,), "normal"), slack=30, smooth=False
    ),
    "codes of another length": _entry(
        "jsp.cluster.vq.vq(a, b)", ("float32", (5, 2), "normal"), ("float32", (3, 3), "normal")
    ),
    "sums in a narrow dtype": _entry(
        "lax.dot(a, a, preferred_element_type='float16')", ("complex64", (2, 2), "normal")
    ),
    "filters summed in a narrow dtype": _entry(
        "lax.conv_general_dilated(a, b, (1, 1), 'VALID', preferred_element_type='float16')",
        ("float32", (2, 4, 4, 4), "normal"),
        ("float32", (4, 4, 2, 2), "normal"),
    ),
    "a factor of no square": _entry(
        "lax.linalg.cholesky(a, symmetrize_input=False)", ("complex64", (1, 2), "normal")
    ),
    "a size without a sign": _entry("lax.abs(a)", ("uint16", (3,), "normal")),
    "transforms of real numbers": _entry(
        "lax.fft(a, 'FFT', (3,)), lax.fft(b, 'RFFT', (3,)), lax.fft(a, 'IRFFT', (5,))",
        _F,
        _I,
        slack=30,
        smooth=False,
    ),
    "bits of a weak array": _entry("lax.reduce_xor(jnp.full((2, 3), 5), (0,))"),
    "reflections of integers": _entry(
        "lax.linalg.householder_product(a, b)",
        ("int32", (0, 3, 2), "normal"),
        ("int32", (0, 2), "normal"),
    ),
    "windows as many as elements": _entry(
        "lax.reduce_window(a, 0.0, lax.add, (2,), (2,), 'SAME', base_dilation=(2,))",
        ("float32", (4,), "normal"),
    ),
    "high halves of a table": _entry(
        "lax.mulhi(a, b)", ("int16", (2, 1), "extreme"), ("int16", (1, 3), "extreme")
    ),
    "finite integers": _entry("lax.is_finite(a)", _I),
    "a condensed vector": _entry("lax.linalg.hessenberg(a)", _F),
    "a companion of a weak vector": _entry("jsp.linalg.fiedler_companion(jnp.full(2, 1.0) * 2.0)"),
    "whole factors of an empty matrix": _entry(
        "jsp.linalg.svd(a), jsp.linalg.svd(b)",
        ("float32", (0, 2), "normal"),
        ("float32", (3, 0), "normal"),
        smooth=False,
    ),
    "solutions of no equations": _entry("jnp.linalg.solve(a, a)", ("float32", (0, 0), "normal")),
    "eigenvalues of an empty matrix": _entry(
        "jnp.linalg.eigvals(a)", ("float32", (0, 0), "normal")
    ),
    "a tail where it is level": _entry(
        "jsp.stats.chi2.sf(a, b, 0.5), jsp.stats.gamma.cdf(a, b, 0.5)",
        ("float32", (3,), "among:0.25:0.75"),
        ("float32", (3,), "within:0.2:0.8"),
    ),
    "the slope of digamma between far poles": _entry(
        "lax.digamma(a)", ("float32", (5,), "within:-30:-9"), slack=30
    ),
    # Found by the fuzz.
    "the slope of the rising factorial at 0": _entry(
        "jax.jvp(jsp.special.poch, (a, b), (jnp.cos(a), jnp.sin(a)))",
        ("float32", (4,), "positive"),
        ("float32", (4,), "among:0:-0.0:1"),
        smooth=False,
    ),
    "products of integers with and without a sign": _entry(
        "lax.dot(a, b), lax.dot(c, d), lax.dot(b, c), lax.dot(a, d)",
        ("int32", (2, 2), "normal"),
        ("uint32", (2, 2), "extreme"),
        ("uint8", (2, 2), "normal"),
        ("int8", (2, 2), "normal"),
    ),
    "windows of a length that is a float": _entry(
        "jnp.hamming(5.0), jnp.hanning(1.0), jnp.bartlett(3.0), jnp.kaiser(4.0, 1.0), jnp.blackman(0.0)"
    ),
    "powers of a number are not weak": _entry(
        "jnp.power(2.0, a), 2.0 ** a, lax.pow(jnp.full(3, 2.0), a), jnp.power(jnp.full(3, 2.0), 2)",
        ("int32", (3,), "few"),
    ),
    "weakness of folds": _entry(
        "lax.reduce(jnp.full(3, 2), jnp.asarray(a, int), lax.add, (0,)), "
        "lax.reduce(jnp.full(3, 2), 0, lax.add, (0,))",
        ("int32", (), "positive"),
    ),
    "a complex number as a Boolean": _entry("jnp.full(2, 1j, dtype=bool), jnp.full(2, 0j, 'bool')"),
    "a function of indices as they are": _entry(
        "jnp.fromfunction(lambda i: i * 2, (3,), dtype=None)"
    ),
    "weakness of one negated element": _entry("jnp.negative.at(jnp.full(2, 2), 0, inplace=False)"),
    "weakness of folded windows": _entry(
        "lax.reduce_window(jnp.full(2, 2), 1, lax.add, (2,)), "
        "lax.reduce_window(jnp.full(2, 2), 0, lax.add, (2,))"
    ),
    "weakness of decompositions": _entry(
        "(*lax.linalg.schur(a + jnp.full((2, 2), 2.0)), *lax.linalg.schur(jnp.full((2, 2), 2.0)), "
        "*lax.linalg.hessenberg(jnp.full((2, 2), 2.0)), *lax.linalg.lu(jnp.full((2, 2), 2.0)), "
        "lax.linalg.cholesky(jnp.full((1, 1), 4.0)), lax.linalg.eigh(jnp.full((2, 2), 2.0))[1], "
        "*jsp.linalg.rsf2csf(jnp.full((2, 2), 2.0), jnp.full((2, 2), 2.0)), "
        "*jsp.linalg.rsf2csf(jnp.full((2, 2), 2.0), jnp.eye(2)), "
        "lax.linalg.triangular_solve(jnp.full((1, 1), 2.0), jnp.full((1, 1), 2.0)))",
        ("float32", (2, 2), "definite"),
        smooth=False,
    ),
    "lists of matrices": _entry(
        "jsp.linalg.svd([[1.0, 2], [3, 4]], compute_uv=False), jsp.linalg.cholesky([[4.0, 0], [0, 1]]), "
        "jsp.linalg.cho_factor([[4.0, 0], [0, 1]])[0], jsp.linalg.lu_factor([[1.0, 0], [0, 4]])[0], "
        "jsp.linalg.cho_solve(([[2.0, 0], [0, 1]], True), [1.0, 2.0]), jsp.linalg.polar([[2.0, 0], [0, 1]]), "
        "jsp.linalg.solve_triangular([[1.0, 0], [0, 4]], [1.0, 2.0]), jsp.linalg.eigh([[1.0, 0], [0, 4]])[0], "
        "jsp.linalg.solve_sylvester([[1.0, 0], [0, 4]], [[1.0, 0], [0, 4]], [[1.0, 0], [0, 4]]), "
        "jsp.special.spence([0.5, 2.0])",
        smooth=False,
        slack=50,
    ),
    "decompositions of nothing in narrow floats": _entry(
        "jnp.linalg.svdvals(a), *lax.linalg.svd(a), *lax.linalg.qr(b), *lax.linalg.qr(a, pivoting=True), "
        "jnp.linalg.norm(a, 'nuc')",
        ("float16", (3, 0), "normal"),
        ("float8_e5m2", (0, 2), "normal"),
        smooth=False,
    ),
    "a traced list": _entry(
        "jnp.iscomplexobj([a, a]), jnp.isrealobj((a, 1j * a))", _F, smooth=False
    ),
    "an array as a dtype": _entry("jnp.dstack(a, b)", _F, _I),
    "padding that takes away too much": _entry(
        "lax.conv_shape_tuple((1, 2, 5), (3, 2, 2), (1,), [(-9, 0)])"
    ),
    "a kernel that is a list": _entry(
        "lax.conv_general_dilated_local(a, [[[1.0], [1.0]]], (1,), 'VALID', (2,))",
        ("float32", (1, 1, 2), "normal"),
    ),
    "rows of edges": _entry(
        "jnp.histogramdd(a, b)", ("float32", (9, 2), "normal"), ("float32", (2, 3), "sorted")
    ),
    "Owen's function of narrow floats": _entry(
        "jsp.special.owens_t(a, b), jsp.special.owens_t(b, 1), jsp.special.owens_t(c, a)",
        ("float16", (3,), "normal"),
        ("bfloat16", (3,), "normal"),
        ("int8", (3,), "few"),
        slack=50,
    ),
    "the slope of exp1 where it is not defined": _entry(
        "jax.jvp(jsp.special.exp1, (a,), (a,))",
        ("float32", (4,), "among:-2:1:-30:30"),
        smooth=False,
        slack=50,
    ),
    "transforms of no axes": _entry(
        "jnp.fft.fftn(a, axes=()), jnp.fft.ifftn(b), jnp.fft.irfftn(a, axes=()), jnp.fft.rfftn(a, axes=())",
        _F,
        ("bfloat16", (), "normal"),
        smooth=False,
    ),
    "indices of four bits, gathered and scattered": _entry(
        "lax.gather(a, b, lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4), mode='fill'), "
        "lax.scatter_add(a, b, a[:2], lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode='drop')",
        ("float32", (3, 4), "normal"),
        ("int4", (2, 1), "index:0:5"),
        smooth=False,
    ),
    "the unitary matrix of two complex rows": _entry(
        "jsp.linalg.hessenberg(a, calc_q=True)", ("complex64", (2, 2), "regular"), smooth=False
    ),
    "Schur's complex form of integers": _entry(
        "jnp.abs(jsp.linalg.schur(a, output='complex')[0].trace())",
        ("int8", (3, 3), "regular"),
        smooth=False,
    ),
    "an infinite signal by transforms, along an axis of length 1": _entry(
        "jsp.signal.fftconvolve(a, b), jsp.signal.fftconvolve(b, a, mode='valid'), "
        "jsp.signal.fftconvolve(a[None], a[None], axes=0)",
        ("float32", (7,), EDGES),
        ("float32", (1,), "positive"),
        smooth=False,
    ),
    "lists of numbers": _entry(
        "jsp.special.ndtr([1.0, a]), jsp.special.log_ndtr((a, 2))", ("float32", (), "normal")
    ),
    "Poisson's probability of what meets in weak floats": _entry(
        "jsp.stats.poisson.pmf(a, b)", ("uint64", (3,), "few"), ("int32", (3,), "positive")
    ),
    "a mask of numbers": _entry("nn.softmax(a, where=a)", _F),
    "a mask of complex numbers": _entry("nn.logsumexp(a, where=b)", _F, _C),
    "a mean over a larger mask": _entry(
        "nn.logmeanexp(a, where=b)", ("float32", (3, 1), "normal"), ("bool", (3, 2), "few")
    ),
    "patches of a list": _entry(
        "lax.conv_general_dilated_patches(a.tolist(), (1, 3), (2, 1), 'SAME')",
        ("float32", (1, 2, 5, 4), "normal"),
    ),
    "no factor of what is no number": _entry(
        "jsp.special.poch(a, 0.0)", ("float32", (9,), EDGES), smooth=False
    ),
    "gamma functions of Booleans": _entry("jsp.special.multigammaln(a, 2)", _B),
    "Kummer's function of an infinite base": _entry(
        "jsp.special.hyp1f1(a, b, c)",
        ("float32", (9,), "positive"),
        ("float32", (9,), "among:inf:-inf:2:nan"),
        ("float32", (9,), "within:-3:3"),
        smooth=False,
    ),
    "the entropy of no events": _entry(
        "jsp.stats.poisson.entropy(a) == 0", ("float32", (4,), "among:0:1"), smooth=False
    ),
    "the slope of complex numbers that are positive": _entry(
        "jax.jvp(nn.relu, (a,), (a,))",
        ("complex64", (9,), "among:0:-0.0:1:-1:2:-3"),
        smooth=False,
    ),
    "columns that complete a matrix": _entry(
        "jax.jvp(lax.linalg.qr, (a,), (a * a,))", ("float32", (3, 2), "regular"), smooth=False
    ),
    "weakness of scattered elements": _entry(
        "[f(jnp.full((3, 2), 3), jnp.array([[0], [1]]), a, "
        "lax.ScatterDimensionNumbers((1,), (0,), (0,)), mode='fill') for f in "
        "(lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min, lax.scatter_max)]",
        ("int32", (2, 2), "positive"),
    ),
    "weakness of folded bits": _entry(
        "[f.reduce(jnp.full(3, 3)) for f in (jnp.bitwise_and, jnp.bitwise_or, jnp.bitwise_xor)]"
    ),
    "frequencies of integers": _entry(
        "[jnp.fft.fftfreq(n, d, dtype=t) for n in (4, 5) for d in (1.0, 0.1) "
        "for t in ('uint8', 'int8', 'int32', 'float16')]",
        smooth=False,
    ),
    "logarithms of beta functions beside a zero": _entry(
        "jsp.special.betaln(a, b)",
        ("float32", (9,), "among:0:1:2"),
        ("float32", (9,), "among:0.5:3:1e38:3.4028235e38"),
        smooth=False,
    ),
    "counts that are Booleans": _entry(
        "jsp.stats.multinomial.pmf(a, jnp.sum(a), b / jnp.sum(b)), "
        "jsp.stats.multinomial.logpmf(jnp.array([0, 1], 'uint8'), True, b / jnp.sum(b))",
        ("bool", (2,), "few"),
        ("float32", (2,), "positive"),
    ),
    "the dtype of rotations between rotations": _entry(
        "jnp.abs(jsp.spatial.transform.Slerp.init(jnp.array([0.0, 1.0, 3.0]), "
        "jsp.spatial.transform.Rotation.from_quat(a))(b).as_quat())",
        ("float16", (3, 4), "normal"),
        ("float32", (4,), "within:0:3"),
    ),
    "a matrix of large numbers that has no inverse": _entry(
        "jnp.linalg.det(jnp.concatenate([a, 2 * a, 1e38 * jnp.flip(a), jnp.ones((1, 4))]))",
        ("float32", (1, 4), "positive"),
        smooth=False,
    ),
    "activations of numbers that are weak and narrow": _entry(
        "[f(x) for x in (a, b, c) for f in (nn.softplus, nn.mish, nn.soft_sign, nn.log_sigmoid)]",
        ("float32", (3,), "normal", "weak"),
        ("bfloat16", (3,), "normal", "weak"),
        ("complex64", (3,), "normal", "weak"),
        slack=50,
        smooth=False,
    ),
    "activations of weak integers": _entry(
        "[f(a) for f in (nn.softplus, nn.mish, nn.soft_sign, nn.log_sigmoid)]",
        ("int32", (3,), "normal", "weak"),
        slack=50,
    ),
    "softmax of a mask keeps the dtype": _entry(
        "nn.softmax(a, where=b), nn.log_softmax(c, where=b)",
        ("bfloat16", (3,), "normal", "weak"),
        _B,
        ("float32", (3,), "normal", "weak"),
        slack=50,
        smooth=False,
    ),
    "an axis that only a mask has": _entry(
        "nn.softmax(a, where=b, axis=1)", _F, ("bool", (2, 3), "normal")
    ),
    "log1mexp of complex numbers": _entry(
        "nn.log1mexp(a), nn.log1mexp(b)", _C, ("complex64", (9,), EDGES), slack=50, smooth=False
    ),
    "columns reflected by integers": _entry(
        "lax.linalg.ormqr(a, b, a)", ("int8", (2, 2), "few"), _I
    ),
    "reflections of several batches": _entry(
        "lax.linalg.ormqr(a, b, a)", ("float32", (2, 2), "normal"), ("float32", (2, 2), "normal")
    ),
    "factors of another dtype": _entry(
        "lax.linalg.householder_product(a, b)",
        ("float32", (2, 2), "normal"),
        ("complex64", (2,), "normal"),
    ),
    "weakness of reflected columns": _entry(
        "lax.linalg.householder_product(lax.full((3, 2), 1.0), lax.full((2,), 1.0)), "
        "lax.linalg.ormqr(lax.full((3, 2), 1.0), lax.full((2,), 1.0), lax.full((3, 1), 1.0))"
    ),
    "the slope of diagonals beside an infinity": _entry(
        "jax.vjp(lambda l, d, u, b: lax.linalg.tridiagonal_solve(l, d, u, b), a, a, a, b)[1](b)[:3:2]",
        ("float32", (1,), "positive"),
        ("float32", (1, 2), "among:inf:nan"),
        smooth=False,
    ),
    "Schur's form without vectors": _entry(
        "lax.linalg.schur(a, compute_schur_vectors=None)",
        ("float32", (1, 1), "normal"),
        smooth=False,
    ),
    "axes of a fold, counted from the end": _entry("lax.reduce(a, 0.0, lax.add, (-1,))", _X),
    "complex numbers of long integers in order": _entry(
        "jnp.sort_complex(a), jnp.sort_complex(b)", ("int64", (3,), "few"), ("uint32", (3,), "few")
    ),
    "complex parts of weak numbers": _entry(
        "a.view('float32'), b.view('complex64'), b.view('int32')",
        ("complex64", (2,), "normal", "weak"),
        ("float32", (2,), "normal", "weak"),
        smooth=False,
    ),
    "weak samples without a trend": _entry(
        "jsp.signal.detrend(a), jsp.signal.detrend(a, type='constant')",
        ("float32", (5,), "normal", "weak"),
        slack=50,
    ),
    "densities of points in another dtype": _entry(
        "[x.dtype for x in (jsp.stats.gaussian_kde(a).pdf(b), jsp.stats.gaussian_kde(b).pdf(a), "
        "jsp.stats.gaussian_kde(b, weights=c).pdf(b))]",
        ("float64", (5,), "distinct"),
        ("float32", (5,), "distinct"),
        ("float64", (5,), "positive"),
        smooth=False,
    ),
    "weak arrays with a border": _entry(
        "(lambda x: ([jnp.pad(x, 1, how) for how in ('constant', 'mean', 'linear_ramp', 'empty')], "
        "jnp.pad(x, 1, constant_values=(1, 2)), jnp.pad(2, 0)))(jnp.full(3, 1.5))",
        smooth=False,
    ),
    "means of long integers in a border": _entry(
        "jnp.pad(jnp.array([2**24 + 1, 2**24 + 1]), 1, 'mean')", smooth=False
    ),
    "no elements of a weak array": _entry(
        "jnp.take(a, jnp.arange(0)), a[jnp.arange(0)], jnp.resize(a, (0,)), "
        "jnp.take_along_axis(a, jnp.zeros(0, int))",
        ("float32", (3,), "normal", "weak"),
        smooth=False,
    ),
    "a weak diagonal and weak samples": _entry(
        "(lambda x: (jnp.diag(x, 1), jnp.interp(x, jnp.arange(3) * 1.0, x)))(jnp.full(3, 1.5))",
        smooth=False,
    ),
    "trees of arrays and numbers as vectors": _entry(
        "[jax.flatten_util.ravel_pytree(tree)[0] for tree in ((a, 1e6), (b, 300), (a, c), (1.5, 2))]",
        ("float16", (2,), "normal"),
        ("int8", (2,), "normal"),
        ("float32", (2,), "normal", "weak"),
        smooth=False,
    ),
    "covariances of no variables": _entry(
        "jnp.cov(a, b)", ("float16", (0, 3), "normal"), ("int32", (2, 3), "normal"), smooth=False
    ),
}
