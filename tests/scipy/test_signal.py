"""Convolutions, trends and spectra against SciPy, and under transformations."""

import numpy as np
import pytest
import scipy.signal

import effax
import effax.numpy as jnp
from effax.scipy import signal
from effax.scipy.spectral_windows import window_of

random = np.random.default_rng(0)
X = random.normal(size=(2, 100)).astype("float32")


def close(found, wanted, tolerance=1e-4):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(name, mode):
    ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
    cases = [((6,), (3,)), ((3,), (6,)), ((4, 5), (3, 2)), ((2, 4, 3), (2, 3, 1))]
    for m, n in cases:
        a, b = random.normal(size=m).astype("float32"), random.normal(size=n).astype("float32")
        for method in ("direct", "fft"):
            close(ours(a, b, mode, method), theirs(a, b, mode))
        close(ours(a, b + 1j * b, mode), theirs(a, b + 1j * b, mode))


@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_planes(name, mode):
    for m, n in [((4, 5), (3, 2)), ((2, 3), (3, 4)), ((3, 4), (3, 3))]:
        a, b = random.normal(size=m), random.normal(size=n)
        close(getattr(signal, name)(a, b, mode), getattr(scipy.signal, name)(a, b, mode))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_fftconvolve(mode):
    a, b = random.normal(size=(3, 7)), random.normal(size=(3, 4))
    close(signal.fftconvolve(a, b, mode, axes=1), scipy.signal.fftconvolve(a, b, mode, axes=1))
    close(signal.fftconvolve(a + 1j, b, mode), scipy.signal.fftconvolve(a + 1j, b, mode))


def test_dtypes_of_convolutions():
    ints, halves = np.arange(6), np.arange(6, dtype="float16")
    for function in (signal.convolve, signal.correlate, signal.fftconvolve):
        assert function(ints, ints).dtype == function(ints > 2, ints > 2).dtype == "float32"
        assert function(halves, halves).dtype == "float16"
        assert function(halves + 1j, ints).dtype == "complex64"


def test_convolutions_under_transformations():
    a, b = X[:, :9], X[:, 10:14]
    for function in (signal.convolve, signal.fftconvolve):
        batched = effax.jit(effax.vmap(lambda x, y, f=function: f(x, y, "same")))(a, b)
        close(batched, [np.convolve(x, y, "same") for x, y in zip(a, b, strict=True)])
        slope = effax.grad(lambda y, f=function: jnp.sum(f(a[0], y, "valid") * a[1, :6]))(b[0])
        close(slope, np.correlate(a[0], a[1, :6], "valid")[::-1])


def test_what_convolutions_refuse():
    one, plane = np.ones(3), np.ones((3, 4))
    for wrong in (
        lambda: signal.convolve(one, one, mode="half"),
        lambda: signal.convolve(one, one, method="magic"),
        lambda: signal.convolve(one, plane),
        lambda: signal.convolve(one[:0], one),
        lambda: signal.correlate(plane, plane.T, mode="valid"),
        lambda: signal.fftconvolve(plane, plane[:1], axes=1),
        lambda: signal.fftconvolve(plane, plane, axes=5),
        lambda: signal.convolve2d(one, one),
    ):
        with pytest.raises(ValueError):
            wrong()
    for wrong in ({"boundary": "wrap"}, {"fillvalue": 1}):
        with pytest.raises(NotImplementedError):
            signal.correlate2d(plane, plane, **wrong)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("type", ["linear", "constant"])
def test_detrend(axis, type):
    x = random.normal(size=(20, 15)) + np.arange(15)
    for bp in (0, [4, 9]):
        close(signal.detrend(x, axis, type, bp), scipy.signal.detrend(x, axis, type, bp))
    close(signal.detrend(x * 1j, axis, type), scipy.signal.detrend(x * 1j, axis, type))


def test_what_detrend_refuses():
    assert signal.detrend([1, 2, 4]).dtype == "float32"
    for wrong in ({"type": "cubic"}, {"bp": 9}, {"axis": 3}):
        with pytest.raises(ValueError):
            signal.detrend(np.ones(4), **wrong)
    with pytest.raises(NotImplementedError):
        signal.detrend(np.ones(4), overwrite_data=True)


WINDOWS = [
    *("boxcar", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop", "triang"),
    *("bartlett", "barthann", "bohman", "cosine", "lanczos", "parzen", "tukey", "exponential"),
    *(("tukey", 0.3), ("kaiser", 8.6), 5.0, ("gaussian", 3.0), ("general_gaussian", 1.5, 4.0)),
    *(("general_hamming", 0.6), ("general_cosine", (0.5, 0.3, 0.2))),
    *(("exponential", 2.0), ("exponential", 3.0, 2.5), ("exponential", None, 2.0)),
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window):
    sizes = (1, 8, 9)
    windows = effax.jit(lambda: [window_of(window, n) for n in sizes])()
    for n, found in zip(sizes, windows, strict=True):
        close(found, scipy.signal.get_window(window, n), 1e-5)


SPECTRA = [
    {"nperseg": 32},
    {"nperseg": 33, "noverlap": 10, "nfft": 64, "fs": 10.0},
    {"nperseg": 32, "detrend": "linear", "return_onesided": False},
    {"nperseg": 30, "window": ("tukey", 0.3), "detrend": False},
    {"nperseg": 2, "axis": 0},
    {"nperseg": 20, "window": np.linspace(1, 2, 20)},
]


@pytest.mark.parametrize("given", SPECTRA, ids=range(len(SPECTRA)))
def test_spectra(given):
    y = X[::-1, :90] if given.get("axis") is None else X[::-1]
    for ours, theirs in zip(signal.stft(X, **given), scipy.signal.stft(X, **given), strict=True):
        close(ours, theirs)
    for more in ({}, {"scaling": "spectrum", "average": "median"}):
        found = signal.welch(X, **given, **more), signal.csd(X, y, **given, **more)
        wanted = scipy.signal.welch(X, **given, **more), scipy.signal.csd(X, y, **given, **more)
        for ours, theirs in zip(found, wanted, strict=True):
            close(ours[0], theirs[0])
            close(ours[1], theirs[1])


@pytest.mark.parametrize("boundary", ["even", "odd", "constant", None])
def test_borders_of_spectra(boundary):
    given = {"nperseg": 16, "boundary": boundary, "padded": False}
    for ours, theirs in zip(signal.stft(X, **given), scipy.signal.stft(X, **given), strict=True):
        close(ours, theirs)


def test_istft():
    z = scipy.signal.stft(X, nperseg=32)[2]
    hamming = {"window": "hamming"}
    for given in ({}, hamming, {"nperseg": 30}, {"boundary": False, **hamming}):
        times, found = signal.istft(z, **given)
        wanted_times, wanted = scipy.signal.istft(z, **given)
        close(times, wanted_times)
        close(found, wanted)
    z = scipy.signal.stft(X * 1j, nperseg=32, return_onesided=False)[2]
    ours = signal.istft(np.moveaxis(z, -1, 0), input_onesided=False, time_axis=0, freq_axis=-1)[1]
    close(np.moveaxis(ours, 0, -1)[:, :100], X * 1j)


def test_spectra_under_transformations():
    batched = effax.jit(effax.vmap(lambda x: signal.welch(x, nperseg=16)[1]))(X)
    close(batched, scipy.signal.welch(X, nperseg=16)[1])

    def power(x):
        return jnp.sum(signal.welch(x, nperseg=16)[1])

    # A quadratic form: by Euler, its slope along x is twice itself.
    close(jnp.vdot(effax.grad(power)(X[0]), X[0]), 2 * power(X[0]))


def test_what_spectra_refuse():
    z = np.ones((17, 8), "complex64")
    for wrong in (
        lambda: signal.welch(X, nperseg=32, window="foo"),
        lambda: signal.welch(X, nperseg=32, window="chebwin"),
        lambda: signal.welch(X, nperseg=32, window="kaiser"),
        lambda: signal.welch(X, nperseg=32, window=np.ones(31)),
        lambda: signal.welch(X, nperseg=32, noverlap=32),
        lambda: signal.welch(X, nperseg=32, nfft=16),
        lambda: signal.welch(X, nperseg=0),
        lambda: signal.welch(X, nperseg=32, detrend="foo"),
        lambda: signal.welch(X, nperseg=32, scaling="foo"),
        lambda: signal.welch(X, nperseg=32, average="foo"),
        lambda: signal.csd(X, X[0], nperseg=32),
        lambda: signal.csd(X, np.ones((3, 100)), nperseg=32),
        lambda: signal.stft(X, nperseg=32, boundary="foo"),
        lambda: signal.istft(z[0]),
        lambda: signal.istft(z, time_axis=-2),
        lambda: signal.istft(z, nfft=20),
        lambda: signal.istft(z, noverlap=40),
        lambda: signal.istft(z, window=np.ones(5)),
    ):
        with pytest.raises(ValueError):
            wrong()
    with pytest.warns(UserWarning, match="greater than input length"):
        signal.welch(X, nperseg=256)
