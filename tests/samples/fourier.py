"""Arguments for Fourier transforms."""

import numpy as np

from effax.effects.rows import fourier

random = np.random.default_rng(8)
X = random.normal(size=(2, 3, 6)).astype(np.float32)
C = (X + 1j * random.normal(size=X.shape)).astype(np.complex64)


def of(kind, *lengths):
    return {"fft_type": kind, "fft_lengths": lengths}


SAMPLES = [
    (fourier.fft, (C,), of("FFT", 6)),
    (fourier.fft, (C,), of("IFFT", 3, 6)),
    (fourier.fft, (C,), of("FFT", 2, 3, 6)),
    (fourier.fft, (X,), of("RFFT", 6)),
    (fourier.fft, (X[..., :5],), of("RFFT", 3, 5)),
    (fourier.fft, (C[..., :4],), of("IRFFT", 6)),
    (fourier.fft, (C[..., :3],), of("IRFFT", 3, 5)),
    (fourier.fft, (C[:0],), of("FFT", 6)),
]
