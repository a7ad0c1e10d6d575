"""GPUs by model, as XLA asks of one that is not there: `stream_executor.GpuTargetConfigProto`.

The numbers are NVIDIA's data sheets' and those that XLA's driver reads from such a device, in the
fields of openxla's `xla/backends/gpu/target_config/specs` at the version of jaxlib 0.10.2.
"""

from __future__ import annotations

from typing import Any, Final

_SAME: Final[dict[str, Any]] = {
    "threads_per_block_limit": 1024,
    "threads_per_warp": 32,
    "shared_memory_per_block": 49152,
    "threads_per_core_limit": 2048,
    "block_dim_limit_x": 2147483647,
    "block_dim_limit_y": 65535,
    "block_dim_limit_z": 65535,
    "registers_per_core_limit": 65536,
    "registers_per_block_limit": 65536,
    "thread_dim_limit_x": 1024,
    "thread_dim_limit_y": 1024,
    "thread_dim_limit_z": 64,
    "device_vendor": '"NVIDIA Corporation"',
    "device_address_bits": 64,
    "driver_version": '"13.0.0"',
    "runtime_version": '"13.0.0"',
    "compile_time_toolkit_version": '"13.0.0"',
    "dnn_version": '"9.10.0"',
    "device_interconnect_info": "{ active_links: 18 }",
}
MODELS: Final[dict[str, dict[str, Any]]] = {
    "a100": {
        "name": '"NVIDIA A100-SXM4-80GB"',
        "cuda_compute_capability": "{ major: 8 }",
        "core_count": 108,
        "fpus_per_core": 64,
        "clock_rate_ghz": 1.41,
        "memory_bandwidth": 2_039_040_000_000,
        "device_memory_size": 85_100_068_864,
        "l2_cache_size": 41_943_040,
        "shared_memory_per_core": 167_936,
        "shared_memory_per_block_optin": 166_912,
    },
    "h200": {
        "name": '"NVIDIA H200"',
        "cuda_compute_capability": "{ major: 9 }",
        "core_count": 132,
        "fpus_per_core": 128,
        "clock_rate_ghz": 1.98,
        "memory_bandwidth": 4_800_000_000_000,
        "device_memory_size": 151_397_597_184,
        "l2_cache_size": 52_428_800,
        "shared_memory_per_core": 233_472,
        "shared_memory_per_block_optin": 232_448,
    },
}
"""The facts of each model, by the name it is asked for."""


def target_config(model: str) -> str:
    """Return the text of a model's configuration; raises `KeyError` for one that is not known."""
    known = MODELS[model]
    info = " ".join(f"{name}: {value}" for name, value in {**_SAME, **known}.items())
    return (
        f'gpu_device_info {{ {info} }} platform_name: "CUDA" '
        f"dnn_version_info {{ major: 9 minor: 10 patch: 0 }} "
        f"device_description_str: {known['name']}"
    )
