"""Run time of matrices, windows and random numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.workloads.operation import F4, MILLION, SAME, Row, enter


def _key(lib: Any) -> Any:
    return lib.random.PRNGKey(0)


def _pool(lib: Any, x: Any) -> Any:
    window = (1, 2, 2, 1)
    return lib.lax.reduce_window(x, -float("inf"), lib.lax.max, window, window, "VALID")


def _pool_numpy(np: Any, x: Any) -> Any:
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).max((2, 4))


def _pool_torch(torch: Any, x: Any) -> Any:
    return torch.nn.functional.max_pool2d(x.permute(0, 3, 1, 2), 2)


def _pool_slope_numpy(np: Any, x: Any) -> Any:
    most = _pool_numpy(np, x).repeat(2, 1).repeat(2, 2)
    return np.where(x == most, 2 * x, 0).astype("f4")


def _slope_torch(loss: Callable[..., Any]) -> Callable[..., Any]:
    def slope(torch: Any, x: Any, *rest: Any) -> Any:
        x = x.detach().requires_grad_()
        loss(torch, x, *rest).backward()
        return x.grad

    return slope


def _conv(lib: Any, x: Any, kernel: Any) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lib.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)


def _conv_loss(lib: Any, kernel: Any, x: Any) -> Any:
    return (_conv(lib, x, kernel) ** 2).sum()


def _conv_loss_torch(torch: Any, kernel: Any, x: Any) -> Any:
    image, weight = x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1)
    return (torch.nn.functional.conv2d(image, weight, padding=1) ** 2).sum()


def _moments(mean: float, deviation: float) -> Callable[..., Any]:
    """Of a sample of 10^6: both are off by less than a hundredth."""

    def check(np: Any, found: Any, *given: Any) -> None:
        wide = found.astype("f8")
        np.testing.assert_allclose([wide.mean(), wide.std()], [mean, deviation], atol=0.01)

    return check


def _is_permutation(np: Any, found: Any, x: Any) -> None:
    np.testing.assert_array_equal(np.sort(found), np.sort(x))
    assert (found != x).mean() > 0.99


def _are_categories(np: Any, found: Any, logits: Any) -> None:
    assert found.shape == logits.shape[:1]
    assert logits[np.arange(len(found)), found].mean() > 0.5, "likelier ones are not drawn more"


def _uniform_bits(np: Any, found: Any) -> None:
    assert found.dtype == np.uint32
    np.testing.assert_allclose(found.astype("f8").mean() / 2**32, 0.5, atol=0.01)


RANDOM = [
    Row(
        "permutation",
        "random permutation of 1000000",
        10,
        "x",
        lambda lib, x: lib.random.permutation(_key(lib), x),
        None,
        lambda t, x: x[t.randperm(len(x))],
        check=_is_permutation,
    ),
    Row(
        "bits",
        "random bits, uint32[1000000]",
        6.1,
        "",
        lambda lib: lib.random.bits(_key(lib), (MILLION,)),
        None,
        lambda t: t.randint(-(2**31), 2**31, (MILLION,), dtype=t.int32),
        check=_uniform_bits,
    ),
    Row(
        "uniform",
        "uniform, float32[1000000]",
        5.6,
        "",
        lambda lib: lib.random.uniform(_key(lib), (MILLION,)),
        None,
        lambda t: t.rand(MILLION),
        check=_moments(0.5, 12**-0.5),
    ),
    Row(
        "normal",
        "normal, float32[1000000]",
        2.9,
        "",
        lambda lib: lib.random.normal(_key(lib), (MILLION,)),
        None,
        lambda t: t.randn(MILLION),
        check=_moments(0, 1),
        why=SAME,
    ),
    Row(
        "bernoulli",
        "bernoulli of 0.3, bool[1000000]",
        13.5,
        "",
        lambda lib: lib.random.bernoulli(_key(lib), 0.3, (MILLION,)),
        None,
        lambda t: t.rand(MILLION) < 0.3,
        check=_moments(0.3, 0.21**0.5),
    ),
    Row(
        "categorical",
        "categorical of 1000 rows of 1000 logits",
        5.2,
        "logits",
        lambda lib, x: lib.random.categorical(_key(lib), x),
        None,
        lambda t, x: t.distributions.Categorical(logits=x).sample(),
        check=_are_categories,
    ),
]

WINDOWS = [
    Row(
        "max_pool",
        "max-pool 2 x 2, float32[32, 64, 64, 16]",
        1.5,
        "images",
        _pool,
        _pool_numpy,
        _pool_torch,
        why=SAME,
    ),
    Row(
        "max_pool_slope",
        "its gradient",
        7.0,
        "images",
        lambda lib, x: lib.grad(lambda x: (_pool(lib, x) ** 2).sum())(x),
        _pool_slope_numpy,
        _slope_torch(lambda t, x: (_pool_torch(t, x) ** 2).sum()),
    ),
    Row(
        "conv",
        "convolution 3 x 3, float32[32, 32, 32, 16], 32 channels",
        None,
        "pictures kernels",
        _conv,
        None,
        lambda t, x, k: t.nn.functional.conv2d(
            x.permute(0, 3, 1, 2), k.permute(3, 2, 0, 1), padding=1
        ),
        why=SAME,
    ),
    Row(
        "conv_weights",
        "gradient of its weights",
        1.45,
        "kernels pictures",
        lambda lib, k, x: lib.grad(partial(_conv_loss, lib))(k, x),
        None,
        _slope_torch(_conv_loss_torch),
        why=SAME,
    ),
]

MATRICES = [
    Row(
        "dot",
        "matrix product, float32[2000, 2000]",
        None,
        "wide other",
        lambda lib, x, y: x @ y,
        lambda np, x, y: x @ y,
        lambda t, x, y: x @ y,
        error=64 * F4,
        why=SAME,
    ),
    Row(
        "inv",
        "inv, float32[1000, 1000]",
        1.6,
        "regular",
        lambda lib, x: lib.numpy.linalg.inv(x),
        lambda np, x: np.linalg.inv(x),
        lambda t, x: t.linalg.inv(x),
        error=64 * F4,
        why="XLA's program is JAX's: one LU, two solves of LAPACK's, three copies; 0.90 to 0.98 of its processor time where BLAS has one thread, nine tenths of it in LAPACK. What was slower, the permutation from the pivots, takes 0.2 ms now, not 1.6 (JAX 0.5 to 0.7)",
    ),
    Row(
        "triangular_solve",
        "triangular solve of 1000 right-hand sides, float32[1000, 1000]",
        3.2,
        "regular block",
        lambda lib, a, b: lib.scipy.linalg.solve_triangular(a, b, lower=True),
        lambda np, a, b: np.linalg.solve(np.tril(a), b),
        lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False),
        error=64 * F4,
    ),
    Row(
        "triangular_solve_wide",
        "triangular solve of 20000 right-hand sides, float32[100, 100]",
        3.2,
        "small columns",
        lambda lib, a, b: lib.scipy.linalg.solve_triangular(a, b, lower=True),
        lambda np, a, b: np.linalg.solve(np.tril(a), b),
        lambda t, a, b: t.linalg.solve_triangular(a, b, upper=False),
        error=64 * F4,
    ),
]

enter((*RANDOM, *WINDOWS, *MATRICES), __name__)
