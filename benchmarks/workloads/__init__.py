"""The measured programs, which run unchanged under effax and under jax, a module a subject."""

from benchmarks.workloads import (
    checked,
    compiling,
    dispatch,
    memory,
    networks,
    operators,
    outputs,
    programs,
    staging,
    tensors,
    training,
    unjitted,
)
from benchmarks.workloads.workload import WORKLOADS, Workload

MODULES = (
    dispatch,
    unjitted,
    staging,
    compiling,
    checked,
    programs,
    training,
    outputs,
    operators,
    tensors,
    networks,
    memory,
)
SUBJECTS = {module.__name__.rpartition(".")[2]: module.__doc__ for module in MODULES}

__all__ = ["SUBJECTS", "WORKLOADS", "Workload"]
