"""What is measured: programs that run unchanged under effax and under jax, a module a subject."""

from benchmarks.workloads import (
    checked,
    compiling,
    dispatch,
    programs,
    staging,
    unjitted,
)
from benchmarks.workloads.workload import WORKLOADS, Workload

SUBJECTS = {
    module.__name__.rpartition(".")[2]: module.__doc__
    for module in (dispatch, unjitted, staging, compiling, checked, programs)
}

__all__ = ["SUBJECTS", "WORKLOADS", "Workload"]
