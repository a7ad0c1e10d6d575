"""Plugins of PJRT for GPU and TPU, found where jax would find them, without importing jax."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from effax.effects import config
from effax.effects.runtime import _jax

_CUDA_PACKAGES: Final = ("xla_cuda13", "xla_cuda12")
_CUDA_TARGETS: Final = (
    "_solver",
    "_linalg",
    "_prng",
    "_sparse",
    "_rnn",
    "_hybrid",
    "_triton",
)
# NVIDIA's wheels that the plugin links to, dependencies first.
_CUDA_LIBRARIES: Final = (
    ("cuda_runtime", "libcudart.so"),
    ("cu13", "libcudart.so"),
    ("cuda_nvrtc", "libnvrtc.so"),
    ("nvjitlink", "libnvJitLink.so"),
    ("cublas", "libcublasLt.so"),
    ("cublas", "libcublas.so"),
    ("cufft", "libcufft.so"),
    ("cusparse", "libcusparse.so"),
    ("cusolver", "libcusolver.so"),
    ("cu13", "libnvrtc.so"),
    ("cu13", "libnvJitLink.so"),
    ("cu13", "libcublasLt.so"),
    ("cu13", "libcublas.so"),
    ("cu13", "libcufft.so"),
    ("cu13", "libcusparse.so"),
    ("cu13", "libcusolver.so"),
    ("cuda_cupti", "libcupti.so"),
    ("cu13", "libcupti.so"),
    ("nccl", "libnccl.so"),
    ("cudnn", "libcudnn.so"),
    ("nvshmem", "libnvshmem_host.so"),
)


def _folder(package: str) -> Path | None:
    """Return the folder of a package without importing it, or its parents unless they are plain."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        return None
    if spec is None:
        return None
    if spec.origin is not None:
        return Path(spec.origin).parent
    places = list(spec.submodule_search_locations or ())
    return Path(places[0]) if places else None


def cuda_package() -> str | None:
    """The name of the installed package with CUDA's plugin ("xla_cuda13"), or None."""
    if _folder("jax_plugins") is None:
        return None
    for package in _CUDA_PACKAGES:
        folder = _folder(f"jax_plugins.{package}")
        if folder is not None and (folder / "xla_cuda_plugin.so").exists():
            return package
    return None


def _load_cuda_libraries() -> None:
    """Load NVIDIA's libraries from their wheels, where the plugin does not find them by itself."""
    for package, library in _CUDA_LIBRARIES:
        folder = _folder(f"nvidia.{package}")
        if folder is None:
            continue
        for path in sorted((folder / "lib").glob(f"{library}*"))[:1]:
            try:
                ctypes.cdll.LoadLibrary(str(path))
            except OSError:
                # The plugin, when it is loaded, names the missing library in a better message.
                continue


def cuda_client(distributed: Mapping[str, Any]) -> Any:
    """A client of CUDA, with the plugin's custom calls registered.

    Raises `RuntimeError` (or `OSError`, `ImportError`) where there is no usable device or the
    plugin is not of jaxlib's version.
    """
    from effax.effects.runtime import xla_client

    load_cuda()
    options = xla_client.generate_pjrt_gpu_plugin_options()
    visible = config.read("cuda_visible_devices")
    if visible and visible != "all":
        options["visible_devices"] = [int(part) for part in visible.split(",")]
    return _client("cuda", options, distributed)


def load_cuda() -> Any:
    """Load CUDA's plugin, once, with its custom calls. Needs no device.

    Returns its interface, None where jax has loaded it.
    """
    package = cuda_package()
    folder = _folder(f"jax_plugins.{package}")
    assert package is not None and folder is not None, "asked for only where it was found"
    if not _jax.pjrt_plugin_loaded("cuda"):
        _load_cuda_libraries()
        api = _jax.load_pjrt_plugin("cuda", str(folder / "xla_cuda_plugin.so"), c_api=None)
        _jax.initialize_pjrt_plugin("cuda")
        _register_cuda_targets(_cuda_module(package), api)
    return _cuda_loaded[0][1] if _cuda_loaded else None


def ready_host_lapack() -> None:
    """Give CUDA's plugin the LAPACK that its hybrid functions call on the host: SciPy's.

    The first call imports `scipy.linalg`, later ones are cheap.
    """
    package = cuda_package()
    assert package is not None, "a program for CUDA is compiled by the plugin"
    importlib.import_module(f"{_cuda_module(package)}._hybrid").initialize()


def _cuda_module(package: str) -> str:
    """Return the package with the custom calls of a plugin's package."""
    return f"jax_{package.removeprefix('xla_')}_plugin"


_cuda_loaded: Final[list[tuple[Any, Any]]] = []
_awaiting_cuda: Final[list[Callable[[Any, Any], None]]] = []


def when_cuda_is_loaded(register: Callable[[Any, Any], None]) -> None:
    """Have a function called with the plugin's extension and interface, now or when it is there."""
    if _cuda_loaded:
        register(*_cuda_loaded[0])
    else:
        _awaiting_cuda.append(register)


def _register_cuda_targets(module: str, api: Any) -> None:
    """Make known the custom calls of the plugin's package: solvers, callbacks, Triton."""
    extension = importlib.import_module(f"{module}.cuda_plugin_extension")
    _cuda_loaded.append((extension, api))
    while _awaiting_cuda:
        _awaiting_cuda.pop(0)(extension, api)
    for name, value in extension.ffi_types().items():
        extension.register_custom_type(api, name, value)
    for name, value in extension.ffi_handlers().items():
        extension.register_custom_call_target(api, name, value, "CUDA", 1, 0)
    for part in _CUDA_TARGETS:
        if importlib.util.find_spec(f"{module}.{part}") is None:
            continue
        targets = importlib.import_module(f"{module}.{part}").registrations()
        for name, value in targets.items():
            extension.register_custom_call_target(api, name, value, "CUDA", 1, 0)


def tpu_library() -> str | None:
    """The path of libtpu, or None: of `TPU_LIBRARY_PATH`, else of the installed package."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    if path:
        return path
    folder = _folder("libtpu")
    library = None if folder is None else folder / "libtpu.so"
    return str(library) if library is not None and library.exists() else None


def has_tpu() -> bool:
    """Whether the machine shows chips."""
    return any(Path("/dev").glob("accel*")) or Path("/dev/vfio").exists()


def load_tpu() -> None:
    """Load libtpu, once. Needs no chip."""
    if not _jax.pjrt_plugin_loaded("tpu"):
        _jax.load_pjrt_plugin("tpu", tpu_library(), None)
        _jax.initialize_pjrt_plugin("tpu")


def tpu_client(distributed: Mapping[str, Any]) -> Any:
    """A client of TPU. Raises `RuntimeError` where there is no chip."""
    if not has_tpu():
        # Without chips the library would query the cloud's metadata server, and wait.
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")
    load_tpu()
    return _client("tpu", {}, distributed)


def _client(platform: str, options: dict[str, Any], distributed: Mapping[str, Any]) -> Any:
    if not distributed:
        return _jax.get_c_api_client(platform, options, None)
    if platform == "cuda":
        options = options | {"node_id": distributed["index"], "num_nodes": distributed["count"]}
    return _jax.get_c_api_client(platform, options, distributed["client"])
