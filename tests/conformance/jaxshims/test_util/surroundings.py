"""Output that is captured, the environment, meshes; and the complex plane."""

from __future__ import annotations

import contextlib
import functools
import io
import math
import os
import sys
import tempfile
import unittest

import numpy as np

from jaxshims.test_util.devices import _t


@contextlib.contextmanager
def _capture(stream_name, fd):
    """Captures what Python and what native code write to a standard stream."""
    with tempfile.TemporaryFile(mode="w+b") as f:
        old_stream = getattr(sys, stream_name)
        old_stream.flush()
        saved = os.dup(fd)
        os.dup2(f.fileno(), fd)
        new_stream = io.TextIOWrapper(os.fdopen(os.dup(f.fileno()), "wb", 0), write_through=True)
        setattr(sys, stream_name, new_stream)
        text = None

        def get():
            if text is not None:
                return text
            pos = f.tell()
            f.seek(0)
            out = f.read().decode()
            f.seek(pos)
            return out

        try:
            yield get
        finally:
            new_stream.flush()
            setattr(sys, stream_name, old_stream)
            os.dup2(saved, fd)
            os.close(saved)
            f.seek(0)
            text = f.read().decode()
            new_stream.close()


def capture_stdout():
    return _capture("stdout", 1)


def capture_stderr():
    return _capture("stderr", 2)


@contextlib.contextmanager
def set_env(**kwargs):
    old = {k: os.environ.get(k) for k in kwargs}
    for k, v in kwargs.items():
        if v is None:
            os.environ.pop(k, None)
        else:
            os.environ[k] = v
    try:
        yield
    finally:
        for k, v in old.items():
            if v is None:
                os.environ.pop(k, None)
            else:
                os.environ[k] = v


@contextlib.contextmanager
def with_mesh(named_shape):
    names = tuple(n for n, _ in named_shape)
    shape = tuple(s for _, s in named_shape)
    size = math.prod(shape)
    devices = list(_t("local_devices")())
    if len(devices) < size:
        raise unittest.SkipTest(f"needs {size} local devices")
    mesh = _t("sharding.Mesh")(np.array(devices[:size]).reshape(shape), names)
    with mesh:
        yield


def with_mesh_from_kwargs(f):
    return lambda *args, **kwargs: with_mesh(kwargs["mesh"])(f)(*args, **kwargs)


def create_mesh(mesh_shape, axis_names, iota_order=False, axis_types=None):
    size = math.prod(mesh_shape)
    devices = _t("devices")()
    if len(devices) < size:
        raise unittest.SkipTest(f"needs {size} devices, found {len(devices)}")
    if iota_order:
        ordered = sorted(devices, key=lambda d: d.id)
        array = np.array(ordered[:size]).reshape(mesh_shape)
        return _t("sharding.Mesh")(array, axis_names, axis_types=axis_types)
    if axis_types is None:
        axis_types = (_t("sharding.AxisType").Auto,) * len(mesh_shape)
    return _t("make_mesh")(mesh_shape, axis_names, axis_types)


def with_explicit_mesh(sizes, names, axis_types=None, iota_order=False):
    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            kinds = axis_types
            if kinds is None:
                kinds = (_t("sharding.AxisType").Explicit,) * len(names)
            mesh = create_mesh(sizes, names, iota_order, axis_types=kinds)
            with _t("set_mesh")(mesh):
                return fn(*args, **kwargs, mesh=mesh)

        # pytest would take the arguments of the wrapped function for fixtures.
        del wrapper.__wrapped__
        return wrapper

    return decorator


def complex_plane_sample(dtype, size_re=10, size_im=None):
    """A grid over the complex plane: zeros, infinities, large and small parts."""
    size_im = size_re if size_im is None else size_im
    part = np.finfo(dtype).dtype
    info = np.finfo(part)

    def axis(n):
        steps = (
            np.geomspace(float(info.tiny) * 2, float(info.max) / 2, max(n, 1))
            if n
            else np.array([])
        )
        steps = steps.astype(part)
        return np.concatenate(
            [
                [-np.inf],
                [-info.max] if n else [],
                -steps[::-1],
                [0.0],
                steps,
                [info.max] if n else [],
                [np.inf],
            ]
        ).astype(part)

    re_, im_ = axis(size_re), axis(size_im)
    out = np.empty((len(im_), len(re_)), dtype)
    out.real = re_[None, :]
    out.imag = im_[:, None]
    return out


class CudaArchSpecificTest:
    def skip_unless_sm90a(self):
        self.skipTest("GPU only")

    skip_unless_tcgen05 = skip_unless_sm90a


def _noop_jit(fun=None, **kwargs):
    if fun is None:
        return lambda f: f
    return fun


def _real_jit(*args, **kwargs):
    return _t("jit")(*args, **kwargs)


_noop_jit._name, _real_jit._name = "noop", "jit"
JIT_IMPLEMENTATION = [_real_jit, _noop_jit]
