"""A call of each public function over arrays: what it costs to call it once all is compiled.

`CALLS[module][arguments]` are the functions that take those arguments; under "" stand whole calls,
written without spaces. `environment()` holds what the arguments mention. Results are not looked at
here, as other tests do that.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

_ELEMENTWISE = """abs acos asin asinh atan atanh cbrt ceil cos cosh exp exp2 expm1 floor log log1p round sign sin sinh sqrt square tan tanh"""


def by_parameters(module: Any) -> dict[int, list[str]]:
    """The public functions of a module, by how many arguments they must be given."""
    found: dict[int, list[str]] = {}
    for name, function in vars(module).items():
        ours = inspect.isfunction(function) and function.__module__ == module.__name__
        if ours and not name.startswith("_"):
            needed = inspect.signature(function).parameters.values()
            n = sum(p.default is p.empty for p in needed)
            found.setdefault(n, []).append(name)
    return found


CALLS: dict[str, dict[str, str]] = {
    "numpy": {
        "X": _ELEMENTWISE
        + """ absolute all amax conj imag real amin angle any arccos arcsin arcsinh arctan arctanh argmax argmin
        argsort around array array_repr array_str asarray atleast_1d atleast_2d atleast_3d average
        conjugate copy corrcoef count_nonzero cov cumprod cumsum deg2rad degrees diag diagflat
        diagonal diff ediff1d empty_like fabs flip fliplr flipud frexp gradient histogram
        histogram_bin_edges i0 iscomplex iscomplexobj isfinite isinf isnan isneginf isposinf isreal
        isrealobj isscalar log10 log2 logical_not matrix_transpose max mean median min modf
        nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod
        nanstd nansum nanvar ndim negative ones_like positive prod ptp rad2deg radians ravel
        reciprocal rint rot90 shape signbit sinc size sort sort_complex spacing squeeze std sum
        trace transpose trapezoid tril tril_indices_from triu triu_indices_from trunc unwrap
        var zeros_like""",
        "X,Y": """add allclose arctan2 array_equal array_equiv atan2 append copysign divide divmod
        equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot inner
        isclose kron less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum
        minimum mod multiply nextafter not_equal outer pow power remainder subtract true_divide
        vdot vecdot""",
        "X1": "acosh arccosh",
        "X,1": "argpartition partition pad roll rollaxis",
        "X,0.3": "nanpercentile nanquantile percentile quantile",
        "X,axis=0": "cumulative_prod cumulative_sum expand_dims unstack",
        "[X,Y]": "block column_stack concat concatenate dstack hstack stack vstack",
        "I,I": """bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm
        left_shift right_shift""",
        "I": "bitwise_count bitwise_invert bitwise_not invert",
        "5": """arange bartlett blackman diag_indices empty eye hamming hanning identity ones tri
        tril_indices triu_indices zeros""",
        "V,W": """convolve correlate digitize histogram2d polyadd polymul polysub
        polyval searchsorted""",
        "V": "poly polyder polyint",
        "V,size=5": """unique unique_all unique_counts unique_inverse unique_values flatnonzero
        nonzero argwhere""",
        "V,W,size=5": "setdiff1d intersect1d",
        "V,W,size=9": "setxor1d union1d",
        "": """apply_along_axis(first,0,X) apply_over_axes(totals,X,(0,)) array_split(X,3,1)
        astype(X,'int32') bincount(J,length=9) broadcast_arrays(X,X[:1]) broadcast_shapes((3,1),(4,))
        broadcast_to(X,(2,3,4)) can_cast('int8','int16') choose(J,[V,W,V,W,V],mode='clip') clip(X,0.2,0.5)
        delete(X,0) diag_indices_from(S) compress(B[0],X,1,size=2) cross(X[:,:3],Y[:,:3]) dot(X,XT) dsplit(Z,2)
        einsum('ij,kj->ik',X,Y) einsum_path('ij,kj->ik',X,Y) extract(B,X,size=3)
        fill_diagonal(X,1.0,inplace=False) from_dlpack(X) frombuffer(b'abcd','uint8')
        fromfunction(totals,(3,),dtype=int) frompyfunc(add,2,1) fromstring('1,2',sep=',')
        full((3,),1.0) full_like(X,2.0) geomspace(1.0,9.0,5) histogramdd(X,3) hsplit(X,2) indices((2,3))
        insert(V,1,9.0) interp(V,W,V) isdtype('int8','integral') isin(V,W)
        issubdtype('int8','int16') iterable(X) ix_(J,J) kaiser(5,2.0) ldexp(V,J) lexsort((V,W))
        linspace(0.0,1.0,5) logspace(0.0,1.0,5) mask_indices(3,triu,size=6) matmul(X,XT) matvec(X,Y[0])
        meshgrid(V,W) moveaxis(X,0,1) packbits(B) permute_dims(X,(1,0))
        piecewise(X,[B],[1.0,2.0]) place(X,B,V,inplace=False) polydiv(V,W[:2]) polyfit(V,W,1)
        promote_types('int8','int16') put(X,J,V,inplace=False)
        put_along_axis(X,I,1.0,1,inplace=False) ravel_multi_index((J,J),(9,9),mode='clip')
        repeat(X,2) reshape(X,(4,3)) resize(X,(2,2)) result_type(X,I) roots(V,strip_zeros=False)
        select([B],[X],0.0) split(X,2,1) swapaxes(X,0,1) take(X,J) take_along_axis(X,I,1)
        tensordot(X,XT,1) tile(X,2) trim_zeros(V) unpackbits(U) unravel_index(J,(3,3)) vander(V,3)
        vecmat(Y[:,0],X) vectorize(add) vsplit(Z,2) where(B,X,Y)""",
    },
    "numpy.linalg": {
        "S": """cholesky cond det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_rank
        matrix_transpose norm pinv qr slogdet svd svdvals trace vector_norm""",
        "S,S": "lstsq matmul solve tensordot vecdot",
        "": """cross(X[:,:3],Y[:,:3]) matrix_power(S,3) multi_dot([X,XT,X]) outer(V,W)
        tensorinv(T4) tensorsolve(S,D)""",
    },
    "numpy.fft": {
        "X": """fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft
        rfft2 rfftn""",
        "5": "fftfreq rfftfreq",
    },
    "lax": {
        "C": "conj imag real",
        "X": _ELEMENTWISE
        + """ bessel_i0e bessel_i1e digamma erf erf_inv erfc is_finite lgamma
        logistic neg optimization_barrier reciprocal rsqrt sort stop_gradient cumlogsumexp
        cummax cummin cumprod cumsum dtype stage""",
        "X1": "acosh",
        "X,Y": """add atan2 complex div eq ge gt igamma igamma_grad_a igammac le lt max min mul ne
        nextafter pow random_gamma_grad rem sub sort_key_val broadcast_like""",
        "XP1,X": "zeta",
        "I,I": """bitwise_and bitwise_or bitwise_xor mulhi shift_left shift_right_arithmetic
        shift_right_logical""",
        "I": "bitwise_not clz population_count",
        "X,2": "approx_max_k approx_min_k integer_pow top_k",
        "X,(0,)": "expand_dims rev reduce_max reduce_min reduce_prod reduce_sum",
        "B,(0,)": "reduce_and reduce_or",
        "X,D4,Y[:2],SCATTER": """scatter scatter_add scatter_max scatter_min scatter_mul
        scatter_sub""",
        "IMAGE,KERNEL,(1,1),'SAME'": "conv conv_general_dilated",
        "": """argmax(X,0,'int32') argmin(X,0,'int32') associative_scan(add,X) batch_matmul(Z,Z)
        betainc(X,Y,X) bitcast_convert_type(X,'int32') broadcast(X,(2,))
        broadcast_in_dim(X,(2,3,4),(1,2)) broadcast_shapes((3,1),(4,)) broadcast_to_rank(X,3)
        broadcasted_iota('int32',(2,3),1) clamp(0.2,X,0.5) collapse(X,0,2) concatenate([X,Y],0)
        conv_dimension_numbers(IMAGE.shape,KERNEL.shape,('NCHW','OIHW','NCHW'))
        conv_general_dilated_local(IMAGE,LOCAL,(1,1),'VALID',(2,2))
        conv_general_dilated_patches(IMAGE,(2,2),(1,1),'VALID')
        conv_general_permutations(('NCHW','OIHW','NCHW'))
        conv_general_shape_tuple((1,2,5,5),(3,2,2,2),(1,1),'SAME',('NCHW','OIHW','NCHW'))
        conv_shape_tuple((1,2,5,5),(3,2,2,2),(1,1),((0,0),(0,0)))
        conv_transpose_shape_tuple((1,2,5,5),(3,2,2,2),(1,1),'SAME',('NCHW','OIHW','NCHW'))
        conv_with_general_padding(IMAGE,KERNEL,(1,1),'SAME',None,None)
        convert_element_type(X,'int32') dot(X,XT) dot_general(X,XT,(((1,),(0,)),((),())))
        dynamic_index_in_dim(X,1) dynamic_slice(X,(1,1),(2,2)) dynamic_slice_in_dim(X,1,2)
        dynamic_update_index_in_dim(X,Y[0],1,0) dynamic_update_slice(X,Y[:2],(1,0))
        dynamic_update_slice_in_dim(X,Y[:2],1,0) empty((3,),'float32') fft(C,'fft',(4,))
        full((3,),1.0) full_like(X,2.0) gather(X,D4,GATHER,(1,4)) ge(X,Y) index_in_dim(X,1)
        index_take(X,(J,),(0,)) iota('int32',5) pad(X,0.0,((1,0,0),(0,1,0)))
        padtype_to_pads((5,5),(2,2),(1,1),'SAME') polygamma(1.0,X) ragged_dot(X,ZR,GROUPS)
        ragged_dot_general(X,ZR,GROUPS,RAGGED) reduce(X,0.0,lax_add,(0,)) scaled_dot(S,S)
        reduce_precision(X,5,10) reduce_window(X,0.0,lax_add,(2,2),(1,1),'SAME')
        reduce_window_shape_tuple((3,4),(2,2),(1,1),((0,0),(0,0))) reduce_xor(I,(0,))
        reshape(X,(4,3)) rng_bit_generator(WORDS4,(3,)) rng_uniform(0.0,1.0,(3,))
        select(B,X,Y) select_n(B,X,Y) shape_as_value((3,4)) slice(X,(0,1),(2,3))
        slice_in_dim(X,0,2) split(X,(1,2)) squeeze(X[:1],(0,)) stack([X,Y])
        cond(YES,half,double,X) switch(P[1],[half,double],X) map(half,X) scan(step,V,X[:,:0])
        fori_loop(0,3,count,V) while_loop(small,double,V) tile(X,(2,1)) transpose(X,(1,0)) unstack(X)
        conv_transpose(IMAGE_LAST,KERNEL_LAST,(1,1),'SAME') scatter_apply(X,D4,half,SCATTER,update_shape=(2,4))""",
    },
    "lax.linalg": {
        "S": """cholesky eig eigh hessenberg lu qdwh qr schur svd tridiagonal""",
        "": """cholesky_update(S,D) householder_product(S,D) lu_pivots_to_permutation(J[:3],3)
        ormqr(S,D,S) symmetric_product(S,S) triangular_solve(S,S)
        tridiagonal_solve(D,D,D,S)""",
    },
    "nn": {
        "X": """celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu
        log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu sigmoid silu soft_sign
        softmax softplus sparse_plus sparse_sigmoid squareplus standardize swish tanh log1mexp""",
        "": """dot_product_attention(Q,Q,Q) one_hot(J,5) scaled_matmul(ROWS,ROWS,ROWS,ROWS)
        scaled_dot_general(X,X,(((1,),(1,)),((),())),'float32',MX)""",
    },
    "nn.initializers": {
        "": """constant(1.0)(KEY,(3,4)) zeros(KEY,(3,4)) ones(KEY,(3,4)) uniform()(KEY,(3,4))
        normal()(KEY,(3,4)) truncated_normal()(KEY,(3,4)) orthogonal()(KEY,(3,4))
        delta_orthogonal()(KEY,(3,3,4)) variance_scaling(1.0,'fan_in','normal')(KEY,(3,4))
        glorot_normal()(KEY,(3,4)) glorot_uniform()(KEY,(3,4)) he_normal()(KEY,(3,4))
        he_uniform()(KEY,(3,4)) kaiming_normal()(KEY,(3,4)) kaiming_uniform()(KEY,(3,4))
        lecun_normal()(KEY,(3,4)) lecun_uniform()(KEY,(3,4)) xavier_normal()(KEY,(3,4))
        xavier_uniform()(KEY,(3,4))""",
    },
    "random": {
        "KEY,(5,)": """bits cauchy exponential gumbel laplace
        logistic maxwell normal rademacher uniform""",
        "KEY": "clone key_data key_impl split",
        "KEY,0.5,(5,)": "bernoulli chisquare gamma geometric loggamma pareto poisson t wald",
        "KEY,0.5,0.7,(5,)": "beta binomial f truncated_normal weibull_min",
        "": """PRNGKey(3) ball(KEY,3) categorical(KEY,V) choice(KEY,7,(3,)) choice(KEY,V,(3,),False)
        dirichlet(KEY,W,(2,)) double_sided_maxwell(KEY,3.0,1.0,(5,)) fold_in(KEY,3)
        generalized_normal(KEY,2.0,(5,)) key(3) key_dtype('rbg') lognormal(KEY,1.0,(5,))
        multinomial(KEY,5.0,W) multivariate_normal(KEY,D,S,(2,)) orthogonal(KEY,3)
        permutation(KEY,7) permutation(KEY,V) randint(KEY,(5,),0,9) rayleigh(KEY,0.5,(5,))
        triangular(KEY,0.0,0.5,1.0,(5,)) wrap_key_data(WORDS)""",
    },
    "scipy.special": {
        "X": """dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit factorial fresnel gamma
        gammaln gammasgn i0 i0e i1 i1e log_ndtr log_softmax loggamma logit logsumexp ndtr ndtri
        sici softmax spence wofz""",
        "X,Y": """beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch rel_entr
        xlog1py xlogy""",
        "X,Y,X": "betainc hyp1f1",
        "": """bernoulli(5) bessel_jn(X,v=3) expn(2,X) hyp2f1(X,Y,X,Y) multigammaln(XP1,2)
        polygamma(1,X) sph_harm_y(J,J,V,V,n_max=4) zeta(XP1,X)""",
    },
    "scipy.linalg": {
        "S": """cho_factor cholesky circulant det eigh expm fiedler hessenberg inv lu lu_factor polar
        qr schur sqrtm svd toeplitz""",
        "5": "dft helmert hilbert invhilbert invpascal pascal",
        "V": "companion fiedler_companion hankel",
        "S,S": "expm_frechet qr_multiply rsf2csf solve solve_triangular",
        "": """block_diag(X,Y) cho_solve((S,True),D) convolution_matrix(V,3)
        eigh_tridiagonal(V,V[:4],eigvals_only=True) funm(S,exp) hadamard(4) leslie(V,V[:4])
        lu_solve((S,P),D) solve_sylvester(S,S,S)""",
    },
    "scipy.sparse.linalg": {"S,D": "bicgstab cg gmres"},
    "scipy.stats": {"X": "mode rankdata sem"},
    "scipy.signal": {
        "V,W": "convolve correlate fftconvolve",
        "X,Y": "convolve2d correlate2d",
        "": "csd(V,W,nperseg=4) detrend(V) istft(C,nperseg=4) stft(V,nperseg=4) welch(V,nperseg=4)",
    },
    "scipy.ndimage": {"": "map_coordinates(X,[V,V],1)"},
    "scipy.fft": {"X": "dct dctn idct idctn"},
    "scipy.integrate": {"X": "trapezoid"},
    "scipy.cluster.vq": {"X,Y": "vq"},
    "image": {
        "": """resize(X,(2,3),'linear')
        scale_and_translate(X,(2,3),(0,1),V[:2],V[:2],'linear')""",
    },
    "scipy.stats.dirichlet": {"SIMPLEX,W": "logpdf pdf"},
    "scipy.stats.multinomial": {"J,5,SIMPLEX": "logpmf pmf"},
    "scipy.stats.multivariate_normal": {"D,D,S": "logpdf pdf"},
    "ops": {"X,D3,2": "segment_max segment_min segment_prod segment_sum"},
}


DISTRIBUTIONS = (
    *("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "expon", "gamma", "gennorm"),
    *("geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "nbinom", "norm", "pareto", "poisson"),
    *("t", "truncnorm", "uniform", "vonmises", "wrapcauchy"),
)
for _name in DISTRIBUTIONS:
    _module = importlib.import_module(f"effax.scipy.stats.{_name}")
    CALLS[_module.__name__.removeprefix("effax.")] = {
        ",".join("X" * n): " ".join(names) for n, names in by_parameters(_module).items()
    }


def calls(module: str) -> Iterator[tuple[str, str]]:
    """The functions of a module, each with the text of a call of it."""
    for arguments, functions in CALLS[module].items():
        for word in functions.split():
            yield (
                (word.partition("(")[0], word) if not arguments else (word, f"{word}({arguments})")
            )


class Call:
    """A call whose arguments are computed beforehand: only the function is run by calling this."""

    def __init__(self, text: str, names: dict[str, Any]) -> None:
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.Call)

        def value(part: ast.expr) -> Any:
            return eval(compile(ast.Expression(part), text, "eval"), names)

        self.function = value(node.func)
        self.args = [value(a) for a in node.args]
        self.keywords = {str(k.arg): value(k.value) for k in node.keywords}

    def __call__(self) -> Any:
        return self.function(*self.args, **self.keywords)


def environment(module: str) -> dict[str, Any]:
    """Return the names in calls: a module's functions, arrays on the device, small functions."""
    from effax import lax, nn, random
    from effax import numpy as jnp
    from effax.lax import (
        GatherDimensionNumbers,
        RaggedDotDimensionNumbers,
        ScatterDimensionNumbers,
    )

    x = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(3, 4)
    v = np.linspace(0.2, 0.8, 5, dtype=np.float32)
    square = np.array([[3, 1, 0], [1, 4, 1], [0, 1, 5]], np.float32)
    arrays = {
        "X": x, "Y": x[::-1] * 0.9, "X1": x + 1, "XP1": x + 1, "XT": x.T, "V": v, "W": v[::-1] + 0.1,
        "I": np.arange(12, dtype=np.int32).reshape(3, 4) % 4, "J": np.arange(5, dtype=np.int32) % 3,
        "B": x > 0.4, "C": np.exp(1j * x).astype(np.complex64), "U": np.arange(5, dtype=np.uint8),
        "S": square, "D": square[0], "Z": np.ones((2, 2, 2), np.float32) * v[0],
        "ZR": np.ones((2, 4, 3), np.float32), "GROUPS": np.array([1, 2], np.int32),
        "T4": np.eye(6, dtype=np.float32).reshape(2, 3, 3, 2), "P": np.arange(3, dtype=np.int32),
        "SIMPLEX": np.full(5, 0.2, np.float32),
        "D3": np.array([0, 1, 0], np.int32), "D4": np.array([[0], [1]], np.int32),
        "WORDS": np.arange(2, dtype=np.uint32), "WORDS4": np.arange(4, dtype=np.uint32),
        "Q": np.ones((2, 3, 2, 4), np.float32), "IMAGE": np.ones((1, 2, 5, 5), np.float32),
        "IMAGE_LAST": np.ones((1, 5, 5, 2), np.float32),
        "KERNEL_LAST": np.ones((2, 2, 2, 3), np.float32),
        "KERNEL": np.ones((3, 2, 2, 2), np.float32), "LOCAL": np.ones((3, 8, 4, 4), np.float32),
    }  # fmt: skip
    names = {name: jnp.asarray(a) for name, a in arrays.items()}
    home = importlib.import_module(f"effax.{module}")
    return names | {
        **{name: getattr(home, name) for name in dir(home) if not name.startswith("__")},
        "KEY": random.key(0),
        "SCATTER": ScatterDimensionNumbers((1,), (0,), (0,)),
        "YES": jnp.asarray(True),
        "half": lambda x: x / 2,
        "double": lambda x: x * 2,
        "step": lambda carry, x: (carry * 2, x),
        "count": lambda i, x: x + i,
        "small": lambda x: x[0] < 9,
        "first": lambda x: x[0],
        "totals": lambda x, *axes: jnp.sum(x, *axes, keepdims=True),
        "lax_add": lax.add,
        "ROWS": jnp.ones((2, 3, 4)),
        "MX": [nn.get_scaled_dot_general_config("mxfp8")] * 3,
        "triu": jnp.triu,
        "exp": jnp.exp,
        "GATHER": GatherDimensionNumbers((1,), (0,), (0,)),
        "RAGGED": RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,)),
    }
