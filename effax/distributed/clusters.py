"""Clusters that say in the environment what a job is: a table of variables and their meaning."""

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from effax.backends.xla import plugins

Environment = Mapping[str, str]
_EPHEMERAL: Final = 4096
"""Jobs on one machine get different ports among the last so many, by the numbers of their jobs."""


@attrs.frozen
class Member:
    """The facts a process needs to join a job."""

    address: str
    count: int
    index: int
    local_device_ids: tuple[int, ...] | None = None
    served: bool = False


@attrs.frozen
class Cluster:
    """A kind of cluster: the variables that are all set there, and where the facts are.

    `count`, `index` and `local` are variables or functions of the environment; `host` finds the
    machine of process 0, `port` a port there.
    """

    name: str
    marks: tuple[str, ...]
    count: str | Callable[[Environment], int]
    index: str | Callable[[Environment], int]
    host: Callable[[Environment], str]
    port: Callable[[Environment], int]
    local: str | None = None
    here: Callable[[Environment], bool] = lambda environment: True

    def is_here(self, environment: Environment) -> bool:
        """Whether this process runs in such a cluster."""
        return all(mark in environment for mark in self.marks) and self.here(environment)

    def read(self, what: str, environment: Environment) -> int:
        """Return the number of processes ("count") or that of this one ("index")."""
        source = getattr(self, what)
        return int(environment[source]) if isinstance(source, str) else source(environment)


# ------------------------------------------------------------------------------ Slurm and Open MPI


def first_host(nodes: str) -> str:
    """Return the first host of Slurm's list.

    >>> [first_host(x) for x in ("a1", "a1,b2", "n[001-015],b", "n[3,7-9]", "r[1-2]n4")]
    ['a1', 'a1', 'n001', 'n3', 'r1n4']
    """
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodes)
    return re.sub(r"\[([^,\-\]]+)[^\]]*\]", r"\1", first[0]) if first else nodes


def _of_launcher(environment: Environment) -> str:
    """Return the first address of `mpirun`: "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"."""
    uri = environment["OMPI_MCA_orte_hnp_uri"]
    found = re.search(r"tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]", uri)
    if found is None:
        raise ValueError(
            f"distributed.initialize: OMPI_MCA_orte_hnp_uri={uri!r} has no address; give "
            "coordinator_address"
        )
    return found[1] or f"[{found[2]}]"


def _spread_port(number: int) -> int:
    return 65536 - _EPHEMERAL + number % _EPHEMERAL


# ------------------------------------------------------------------------------------- Cloud TPUs

_METADATA: Final = "http://{}/computeMetadata/v1/instance/attributes/{}"


def metadata(key: str, environment: Environment) -> str | None:
    """Return what Google's metadata server says about this machine; None where it says nothing."""
    host = environment.get("GCE_METADATA_IP", "metadata.google.internal")
    return _fetched(_METADATA.format(host, key), {"Metadata-Flavor": "Google"})


def _fetched(url: str, headers: dict[str, str], context: Any = None) -> str | None:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            text: str = answer.read().decode()
            return text
    except (urllib.error.URLError, TimeoutError):
        return None


def _of_slices(name: str, environment: Environment) -> str | None:
    """Return a variable of several slices, from the environment or the machine's metadata."""
    if name in environment or "TPU_SKIP_MDS_QUERY" in environment:
        return environment.get(name)
    lines = (metadata("tpu-env", environment) or "").splitlines()
    pairs = (line.partition(":") for line in lines)
    return next((value.strip().strip("'") for key, _, value in pairs if key.strip() == name), None)


def _workers(environment: Environment) -> list[str]:
    """Return the hosts of this slice."""
    named = environment.get("TPU_PROCESS_ADDRESSES") or environment.get("TPU_WORKER_HOSTNAMES")
    if named is not None:
        return named.split(",")
    told = (metadata("worker-network-endpoints", environment) or "").split(",")
    # Each entry is a host, or in older metadata name:number:address.
    return [worker.rpartition(":")[2] for worker in told]


def _tpu_count(environment: Environment) -> int:
    slices = int(_of_slices("MEGASCALE_NUM_SLICES", environment) or 1)
    return len(_workers(environment)) * slices


def _tpu_index(environment: Environment) -> int:
    own = environment.get("TPU_WORKER_ID") or metadata("agent-worker-number", environment) or 0
    its_slice = int(_of_slices("MEGASCALE_SLICE_ID", environment) or 0)
    return int(own) + its_slice * len(_workers(environment))


def _tpu_host(environment: Environment) -> str:
    found = _of_slices("MEGASCALE_COORDINATOR_ADDRESS", environment) or _workers(environment)[0]
    return found.partition(":")[0]


def _has_tpu_library(environment: Environment) -> bool:
    return plugins.tpu_library() is not None and plugins.has_tpu()


def _on_gke(environment: Environment) -> bool:
    named = {"TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"} & environment.keys()
    return bool(named) and _has_tpu_library(environment)


def _on_gce(environment: Environment) -> bool:
    asked = "TPU_SKIP_MDS_QUERY" not in environment and _has_tpu_library(environment)
    return asked and metadata("agent-worker-number", environment) is not None


# ------------------------------------------------------------------------------------- Kubernetes

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder in which a container finds its token, its namespace and the cluster's certificate."""


def _pod(environment: Environment) -> tuple[str, str]:
    """Return the job and the domain of this pod, from its host name: job-3.domain...."""
    full = environment.get("EFFAX_POD_NAME") or socket.getfqdn(environment.get("HOSTNAME", ""))
    name, _, domain = full.partition(".")
    return name.removesuffix("-" + environment["JOB_COMPLETION_INDEX"]), domain


def _pod_zero(environment: Environment) -> str:
    job, domain = _pod(environment)
    if not domain:
        raise ValueError(
            f"distributed.initialize: the pods of the job {job!r} can't find each other: it needs "
            "a headless service (clusterIP: None, selector job-name) and `subdomain` with its "
            "name in the pod's spec, as in examples/processes/kubernetes.yaml"
        )
    return f"{job}-0.{domain}"


def _parallelism(environment: Environment) -> int:
    """Return `parallelism` of this pod's job: as EFFAX_NUM_PROCESSES says, else the cluster."""
    told = environment.get("EFFAX_NUM_PROCESSES")
    if told:
        return int(told)
    job, _ = _pod(environment)
    server = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    account = Path(environment.get("EFFAX_SERVICE_ACCOUNT", ACCOUNT))
    scheme = environment.get("EFFAX_KUBERNETES_SCHEME", "https")
    answer = None
    if (account / "token").exists():
        space = (account / "namespace").read_text(encoding="utf-8").strip()
        token = (account / "token").read_text(encoding="utf-8").strip()
        certificate = account / "ca.crt"
        context = (
            ssl.create_default_context(cafile=str(certificate)) if certificate.exists() else None
        )
        url = f"{scheme}://{server}:{port}/apis/batch/v1/namespaces/{space}/jobs/{job}"
        answer = _fetched(url, {"Authorization": f"Bearer {token}"}, context)
    if answer is None:
        raise ValueError(
            f"distributed.initialize: the cluster does not say how many pods the job {job!r} has: "
            "set EFFAX_NUM_PROCESSES in the pod's spec to its `parallelism`, or allow its service "
            "account to get jobs"
        )
    return int(json.loads(answer)["spec"]["parallelism"])


# ------------------------------------------------------------------------------------- the table


def _always(port: int) -> Callable[[Environment], int]:
    return lambda environment: port


CLUSTERS: Final = (
    Cluster(
        "run",  # python -m effax.distributed run
        ("EFFAX_COORDINATOR_ADDRESS", "EFFAX_NUM_PROCESSES", "EFFAX_PROCESS_ID"),
        "EFFAX_NUM_PROCESSES",
        "EFFAX_PROCESS_ID",
        lambda environment: environment["EFFAX_COORDINATOR_ADDRESS"].rpartition(":")[0],
        lambda environment: int(environment["EFFAX_COORDINATOR_ADDRESS"].rpartition(":")[2]),
    ),
    Cluster(
        "ompi",
        ("OMPI_MCA_orte_hnp_uri",),
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_RANK",
        _of_launcher,
        # Open MPI's job numbers are multiples of 4096.
        lambda environment: _spread_port(
            int(environment["OMPI_MCA_orte_hnp_uri"].partition(".")[0]) // 4096
        ),
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    Cluster(
        "slurm",
        ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID"),
        "SLURM_NTASKS",
        "SLURM_PROCID",
        lambda environment: first_host(environment["SLURM_STEP_NODELIST"]),
        lambda environment: _spread_port(int(environment["SLURM_JOB_ID"])),
        "SLURM_LOCALID",
    ),
    Cluster(
        "gketpu", ("TPU_WORKER_ID",), _tpu_count, _tpu_index, _tpu_host, _always(8482), here=_on_gke
    ),
    Cluster("gcetpu", (), _tpu_count, _tpu_index, _tpu_host, _always(8482), here=_on_gce),
    Cluster(
        "k8s",
        ("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"),
        _parallelism,
        "JOB_COMPLETION_INDEX",
        _pod_zero,
        _always(55527),
    ),
)
"""The clusters that are known, in the order in which they are looked for."""


def chosen(method: str | None, environment: Environment) -> Cluster | None:
    """Return the cluster of a name, or that which this process is in; None where there is none.

    Raises `ValueError` for an unknown name, and where this process is in no such cluster.
    """
    if method == "deactivate":
        return None
    if method is None:
        return next((one for one in CLUSTERS if one.is_here(environment)), None)
    found = next((one for one in CLUSTERS if one.name == method), None)
    if found is None:
        raise ValueError(
            "distributed.initialize: cluster_detection_method must be 'deactivate' or one of "
            f"{[one.name for one in CLUSTERS]}, got {method!r}"
        )
    if not found.is_here(environment):
        absent = [mark for mark in found.marks if mark not in environment]
        raise ValueError(
            f"distributed.initialize: cluster_detection_method={method!r}, but this process is "
            f"not in such a cluster: {', '.join(absent) or 'its metadata'} not set"
        )
    return found


def find(
    given: tuple[str | None, int | None, int | None],
    method: str | None,
    local_device_ids: int | Sequence[int] | None,
    environment: Environment = os.environ,
) -> Member:
    """Complete what was given by what the environment says.

    Args:
      given: the address of process 0, the number of processes, the number of this one.
      method: the name of the cluster, see `chosen`.
      local_device_ids: the devices of this process.
      environment: the variables.

    Raises:
      ValueError: where something is neither given nor found, or contradicts itself.
      TypeError: for numbers that are no ints.
    """
    address, count, index = given
    devices = _numbers(local_device_ids, environment)
    cluster = chosen(method, environment) if None in (*given, devices) else None
    if cluster is not None:
        if address is None:
            port = environment.get("EFFAX_COORDINATOR_PORT") or cluster.port(environment)
            address = f"{cluster.host(environment)}:{port}"
        count = cluster.read("count", environment) if count is None else count
        index = cluster.read("index", environment) if index is None else index
        if devices is None and cluster.local is not None:
            devices = (int(environment[cluster.local]),)
    wanted = {"coordinator_address": address, "num_processes": count, "process_id": index}
    for name, value in wanted.items():
        if value is None:
            raise ValueError(
                f"distributed.initialize: {name} should be defined: it was not given, and none of "
                f"the clusters that effax knows was found ({', '.join(c.name for c in CLUSTERS)})"
            )
    for name in ("num_processes", "process_id"):
        if not isinstance(wanted[name], int):
            raise TypeError(f"distributed.initialize: {name} must be an int, got {wanted[name]!r}")
    assert address is not None and count is not None and index is not None
    if not 0 <= index < count:
        raise ValueError(
            f"distributed.initialize: process_id must be from 0 to num_processes - 1, got {index} "
            f"of {count}"
        )
    if not address.rpartition(":")[2].isdigit():
        raise ValueError(
            f"distributed.initialize: coordinator_address must be 'host:port', got {address!r}"
        )
    return Member(address, count, index, devices, "EFFAX_COORDINATION_SERVED" in environment)


def _numbers(given: int | Sequence[int] | None, environment: Environment) -> tuple[int, ...] | None:
    told = environment.get("EFFAX_LOCAL_DEVICE_IDS")
    if given is None and told:
        return tuple(map(int, told.split(",")))
    if given is None:
        return None
    return (given,) if isinstance(given, int) else tuple(given)
