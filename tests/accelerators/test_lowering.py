"""Programs lowered for accelerators, examined without the accelerators' compilers."""

import re

import numpy as np
import pytest

import effax as fx
import effax.numpy as jnp
from effax.backends.xla.executable import compile_text
from effax.backends.xla.placement import default
from effax.effects.errors import UnhandledEffectError
from effax.effects.rows import window
from effax.effects.types import typeof

S = fx.ShapeDtypeStruct


def lowered(platform, f, *args):
    return fx.jit(f).trace(*args).lower(lowering_platforms=(platform,)).as_text()


def for_tpu(f, *args):
    return lowered("tpu", f, *args)


@pytest.mark.parametrize(
    "f, target",
    [
        (jnp.linalg.qr, "@Qr"),
        (fx.lax.linalg.lu, "@LuDecomposition"),
        (jnp.linalg.eigh, "@Eigh"),
        (lambda x: jnp.linalg.qr(x, mode="raw"), "@Qr"),
    ],
)
def test_linear_algebra_is_called_of_the_tpus_compiler(f, target):
    text = for_tpu(f, S((2, 8, 8), "float32"))
    assert target in text
    assert "lapack" not in text


def perturbed(d):
    return fx.lax.linalg.tridiagonal_solve(d, d, d, d[:, None], perturb_singular=True)


def pivoted(x):
    return fx.lax.linalg.qr(x, pivoting=True)


def economical(x):
    return jnp.linalg.svd(x, full_matrices=False)


@pytest.mark.parametrize(
    "f, shape, target",
    [
        (jnp.linalg.svd, (8, 4), "cusolver_gesvdj_ffi"),
        (economical, (50000, 16), "cusolver_gesvd_ffi"),
        (economical, (16, 50000), "transposed = true"),
        (economical, (2, 64, 48), "full_matrices = false"),
        (fx.lax.linalg.tridiagonal, (8, 8), "cusolver_sytrd_ffi"),
        (fx.lax.linalg.lu, (8, 8), "cu_lu_pivots_to_permutation"),
        (lambda d: fx.lax.linalg.tridiagonal_solve(d, d, d, d[:, None]), (8,), "cusparse_gtsv2"),
        (perturbed, (8,), "@cu_tridiagonal_solve_perturbed"),
        (pivoted, (8, 4), "@cusolver_orgqr_ffi"),
    ],
)
def test_linear_algebra_is_called_of_cudas_libraries(f, shape, target):
    text = lowered("cuda", f, S(shape, "float32"))
    assert target in text
    assert "lapack" not in text


def eigenvalues(x):
    return fx.lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)


@pytest.mark.parametrize(
    "f, dtype, target",
    [
        (eigenvalues, "float32", "@cusolver_geev_ffi"),
        (jnp.linalg.eig, "float32", "@cusolver_geev_ffi"),
        (jnp.linalg.eig, "complex64", "@cusolver_geev_ffi"),
        (fx.lax.linalg.eig, "float32", "@cuhybrid_eig_real"),
        (fx.lax.linalg.eig, "complex64", "@cuhybrid_eig_comp"),
    ],
)
def test_left_eigenvectors_are_computed_on_a_gpus_host(f, dtype, target):
    """cuSOLVER has no left eigenvectors."""
    text = lowered("cuda", f, S((2, 4, 4), dtype))
    assert text.count("custom_call") == text.count(target) == 1
    assert "custom_call" not in lowered("cuda", f, S((2, 0, 0), dtype))


@pytest.mark.parametrize("shape", [(5000, 4), (4, 5000)])
def test_large_economical_factors_have_no_square_matrix(shape):
    """cuSOLVER's work on 50000 x 16 would take 10 GB with one."""
    assert "5000x5000" not in lowered("cuda", economical, S(shape, "float32"))


def two_rows(x):
    return fx.lax.linalg.tridiagonal_solve(x[..., :2], x[..., :2], x[..., :2], x[..., :2, None])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    "platform, f, shape",
    [
        ("cuda", fx.lax.linalg.hessenberg, (2, 3, 6, 6)),
        ("tpu", fx.lax.linalg.hessenberg, (6, 6)),
        ("cuda", fx.lax.linalg.schur, (2, 3, 6, 6)),
        ("tpu", fx.lax.linalg.schur, (6, 6)),
        ("tpu", fx.lax.linalg.eig, (2, 6, 6)),
        ("cuda", pivoted, (2, 3, 6, 6)),
        ("tpu", pivoted, (6, 6)),
        ("cuda", two_rows, (4,)),
        ("tpu", two_rows, (3, 4)),
        ("tpu", perturbed, (8,)),
        ("tpu", fx.lax.linalg.tridiagonal, (2, 6, 6)),
    ],
)
def test_reductions_without_a_library_are_loops(platform, f, shape, dtype):
    """Their values are those of `tests/linalg/test_written_*.py`."""
    text = lowered(platform, f, S(shape, dtype))
    assert "stablehlo.while" in text
    assert "lapack" not in text


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_pivoted_triangles_of_empty_matrices_call_nothing(platform):
    for lengths in ((0, 3), (3, 0), (0, 2, 2)):
        text = lowered(platform, pivoted, S(lengths, "float32"))
        assert "custom_call" not in text


@pytest.mark.parametrize(
    "f, x, match",
    [
        (
            lambda x: fx.lax.linalg.svd(x, algorithm=fx.lax.linalg.SvdAlgorithm.QR),
            S((4, 4), "float32"),
            "'svd' has no lowering for the platform 'tpu'",
        ),
    ],
)
def test_what_a_tpu_has_not_is_refused_by_name(f, x, match):
    with pytest.raises(UnhandledEffectError, match=match):
        for_tpu(f, x)


def test_64_bits_are_refused_on_a_tpu():
    with (
        fx.enable_x64(True),
        pytest.raises(UnhandledEffectError, match="qr: the TPU compiler supports"),
    ):
        for_tpu(jnp.linalg.qr, S((4, 4), "float64"))


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    "f",
    [jnp.linalg.svd, jnp.linalg.pinv, economical, jnp.linalg.svdvals],
)
def test_singular_values_on_a_tpu(f, dtype):
    text = for_tpu(f, S((2, 12, 8), dtype))
    assert "@Eigh" in text
    assert "@Qr" in text
    assert "lapack" not in text


def test_large_eigenvalue_problems_on_a_tpu_are_done_by_blocks():
    """By 4 blocks of 75 rows here, two at a time: no call has a matrix that is too large."""
    text = for_tpu(jnp.linalg.eigh, S((300, 300), "float32"))
    (call,) = (line for line in text.splitlines() if "@Eigh" in line)
    assert "tensor<2x150x150xf32>" in call


@pytest.mark.parametrize("sizes", [(3,), (2, 2), (1, 2, 3)])
def test_windows_with_axes_put_before_scatter_to_the_same_places(sizes):
    """A TPU's program of them has nothing of a TPU's own, so the CPU can tell its values."""
    x = np.random.default_rng(0).normal(size=(4, 6, 5)[: len(sizes)]).astype("float32")
    ones = (1,) * len(sizes)
    how = {"window_dimensions": sizes, "window_strides": ones, "padding": ((0, 0),) * len(sizes)}
    source = np.ones([n - k + 1 for n, k in zip(x.shape, sizes, strict=True)], "float32")

    def scattered(source, x):
        return window.select_and_scatter_add(source, x, select="ge", **how)

    made = compile_text(for_tpu(scattered, source, x), placement=default(), out_types=[typeof(x)])
    given = [jnp.asarray(y).buffer for y in (source, x)]
    (found,) = made.execute(given)
    np.testing.assert_array_equal(np.asarray(found), fx.jit(scattered)(source, x))


def test_complex_convolutions_are_three_real_ones_on_a_gpu():
    """cuDNN has none of complex numbers. The program has nothing of a GPU's own, so it runs here."""
    rng = np.random.default_rng(0)
    x, k = (
        (rng.normal(size=s) + 1j * rng.normal(size=s)).astype("complex64")
        for s in ((2, 3, 8, 8), (4, 3, 3, 3))
    )

    def f(x, k):
        return fx.lax.conv(x, k, (1, 1), "SAME")

    text = lowered("cuda", f, x, k)
    assert text.count("stablehlo.convolution") == 3
    out = typeof(f(x, k))
    made = compile_text(text, placement=default(), out_types=[out])
    (found,) = made.execute([jnp.asarray(y).buffer for y in (x, k)])
    np.testing.assert_allclose(np.asarray(found), f(x, k), rtol=1e-4, atol=1e-4)


def printed(x):
    fx.debug.print("{}", x[0])
    return x * 2


@pytest.mark.parametrize(
    "f, sends, receives",
    [
        (printed, 1, 0),
        (lambda x: fx.pure_callback(np.sin, x, x), 1, 1),
        (lambda x: fx.experimental.io_callback(np.sin, x, x, ordered=True), 2, 2),
        (lambda x: (fx.debug.callback(lambda: None), x)[1], 1, 0),
        (lambda x: fx.pure_callback(lambda x, y: (y, x), (x[:0], x), x, x[:0])[1], 1, 1),
    ],
    ids=["print", "pure", "ordered io", "no operand", "no elements"],
)
def test_callbacks_on_a_tpu_send_and_receive(f, sends, receives):
    text = for_tpu(f, S((4,), "float32"))
    assert text.count("stablehlo.send") == sends
    assert text.count("stablehlo.recv") == receives
    assert "custom_call" not in text
    channels = re.findall(r"handle = (\d+), type = ([23])", text)
    assert len({number for number, _ in channels}) == len(channels) == sends + receives


class Client:
    """A client that keeps what it is given to call."""

    def make_python_callback_from_host_send_and_recv(self, *given):
        self.given = given
        return self


def test_the_host_is_called_with_what_was_sent():
    """A TPU sends no arrays without elements, and something where there is no operand."""
    from effax.backends.xla.lowering.callback import call_host
    from effax.backends.xla.lowering.writer import Writer, named
    from effax.effects.types import ShapedArray

    seen = []

    def host(*arrays):
        seen.append([x.shape for x in arrays])
        return tuple(2 * x for x in arrays)

    types = [ShapedArray(shape, np.dtype("float32")) for shape in ((2,), (0, 3), ())]
    w = Writer("tpu")
    call_host(w, types, [named(f"%{i}", t) for i, t in enumerate(types)], host, True, "f")
    call_host(w, [], [], host, True, "f")
    client = Client()
    assert w.callbacks[0].registered(client) is client
    function, operands, results, sending, receiving = client.given
    assert [x.dimensions() for x in operands] == [x.dimensions() for x in results] == [(2,), ()]
    assert (len(sending), len(receiving), len({*sending, *receiving})) == (2, 2, 4)
    found = function(np.ones(2, "float32"), np.float32(3))
    np.testing.assert_array_equal(found[0], [2, 2])
    assert found[1] == 6
    assert w.callbacks[1].registered(client) is client
    assert client.given[0](np.zeros(1, "float32")) == ()
    assert seen == [[(2,), (0, 3), ()], []]


@pytest.mark.parametrize(
    "f, shape",
    [
        (lambda x: fx.scipy.signal.stft(x, nperseg=64)[2], (2, 1024)),
        (lambda x: fx.scipy.signal.welch(x, nperseg=64, noverlap=48)[1], (1024,)),
        (lambda x: jnp.delete(x, 5, 1), (8, 16)),
        (lambda x: jnp.delete(x, np.array([0, 1, 7])), (16,)),
    ],
    ids=["stft", "welch", "delete", "delete several"],
)
def test_known_places_are_sliced(f, shape):
    """A TPU gathers element by element: stft moved 67 times the bytes, delete 220 times."""
    assert "gather" not in for_tpu(f, S(shape, "float32"))


@pytest.mark.parametrize("places", [0, -1, [1, 3], slice(1, 4), slice(0, 0), [True, False] * 3])
def test_deleted_under_jit(places):
    x = np.arange(12.0, dtype="float32").reshape(2, 6)
    places = places if isinstance(places, slice | int) else np.array(places)
    found = fx.jit(lambda x: jnp.delete(x, places, 1))(x)
    np.testing.assert_array_equal(found, np.delete(x, places, 1))


def ragged(lhs, rhs, sizes):
    return fx.lax.ragged_dot(lhs, rhs, sizes)


RAGGED = (S((64, 8), "float32"), S((4, 8, 16), "float32"), S((4,), "int32"))


def test_ragged_products_are_kernels_on_a_tpu():
    """Masks would multiply every row by the matrices of all groups."""
    text = for_tpu(ragged, *RAGGED)
    assert text.count("chlo.ragged_dot") == 2  # the operation, and its axes
    assert "dot_general" not in text

    def loss(lhs, rhs, sizes):
        return jnp.sum(ragged(lhs, rhs, sizes) ** 2)

    text = for_tpu(fx.grad(loss, (0, 1)), *RAGGED)
    assert text.count('"chlo.ragged_dot"') == 3
    assert "rhs_group_dimensions = [0]" in text
    assert "dot_general" not in text


def test_gradients_of_narrow_ragged_products_widen_no_operand():
    """A kernel reads bfloat16 beside the cotangent's float32; copies would be read from memory."""

    def loss(lhs, rhs, sizes):
        y = fx.lax.ragged_dot(lhs, rhs, sizes, preferred_element_type="float32")
        return jnp.sum(y**2)

    lhs, rhs, sizes = RAGGED
    given = (x.update(dtype="bfloat16") for x in (lhs, rhs))
    text = for_tpu(fx.grad(loss, (0, 1)), *given, sizes)
    widened = [x for x in text.splitlines() if "convert" in x and "bf16>) -> " in x]
    assert not widened


@pytest.mark.parametrize("axes", [(0, None, None), (None, 0, None), (0, 0, None), (0, 0, 0)])
def test_batches_of_ragged_products_are_one_kernel_on_a_tpu(axes):
    given = [
        x if a is None else x.update(shape=(3, *x.shape)) for x, a in zip(RAGGED, axes, strict=True)
    ]
    text = for_tpu(fx.vmap(ragged, axes), *given)
    assert text.count('"chlo.ragged_dot"') == 1
    assert "dot_general" not in text


@pytest.mark.parametrize("dtype", ["float16", "complex64", "int32"])
def test_ragged_products_that_no_kernel_takes_are_masked(dtype):
    lhs, rhs, sizes = RAGGED
    text = for_tpu(ragged, lhs.update(dtype=dtype), rhs.update(dtype=dtype), sizes)
    assert "chlo.ragged_dot" not in text
    assert "stablehlo.dot_general" in text


@pytest.mark.parametrize("find", [fx.lax.approx_max_k, fx.lax.approx_min_k])
@pytest.mark.parametrize("axis", [0, 1])
def test_most_of_the_largest_are_found_by_a_tpu(find, axis):
    x = S((300, 400), "float32")
    text = for_tpu(lambda x: find(x, 5, axis, 0.8), x)
    assert f"recall_target = 8.000000e-01 : f32, reduction_dim = {axis} : i64" in text
    assert "@ApproxTopK" in for_tpu(fx.grad(lambda x: find(x, 5, axis)[0].sum()), x)
    assert "@ApproxTopK" not in for_tpu(lambda x: fx.lax.top_k(x, 5), x)
    assert "@ApproxTopK" not in lowered("cuda", lambda x: find(x, 5, axis), x)
