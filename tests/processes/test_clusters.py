"""Environments of each kind of cluster, planted."""

import http.server
import threading

import pytest

from effax import distributed
from effax.distributed import clusters
from effax.distributed.clusters import Member, find

NOTHING = (None, None, None)
SLURM = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_STEP_NODELIST": "gpu[003-004,007]",
    "SLURM_NTASKS": "12",
    "SLURM_PROCID": "9",
    "SLURM_LOCALID": "1",
}
OMPI = {
    "OMPI_MCA_orte_hnp_uri": "1531576320.0;tcp://10.96.0.1,10.148.0.1,10.108.0.1:34911",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
}
RUN = {
    "EFFAX_COORDINATOR_ADDRESS": "127.0.0.1:4321",
    "EFFAX_NUM_PROCESSES": "3",
    "EFFAX_PROCESS_ID": "2",
    "EFFAX_COORDINATION_SERVED": "1",
}
GKE = {"TPU_WORKER_ID": "1", "TPU_WORKER_HOSTNAMES": "a,b", "TPU_SKIP_MDS_QUERY": "1"}
SLICES = {
    "MEGASCALE_COORDINATOR_ADDRESS": "job-0.svc:8080",
    "MEGASCALE_NUM_SLICES": "3",
    "MEGASCALE_SLICE_ID": "2",
}
KUBERNETES = {
    "KUBERNETES_SERVICE_HOST": "127.0.0.1",
    "JOB_COMPLETION_INDEX": "3",
    "EFFAX_POD_NAME": "train-3.pods.default.svc.cluster.local",
}
FOUND = [
    (SLURM, Member("gpu003:63111", 12, 9, (1,))),
    (SLURM | {"EFFAX_COORDINATOR_PORT": "99"}, Member("gpu003:99", 12, 9, (1,))),
    (SLURM | {"EFFAX_LOCAL_DEVICE_IDS": "2,3"}, Member("gpu003:63111", 12, 9, (2, 3))),
    (OMPI, Member("10.96.0.1:62624", 4, 2, (0,))),
    (OMPI | SLURM, Member("10.96.0.1:62624", 4, 2, (0,))),
    (RUN, Member("127.0.0.1:4321", 3, 2, None, True)),
    (RUN | SLURM, Member("127.0.0.1:4321", 3, 2, None, True)),
    (
        KUBERNETES | {"EFFAX_NUM_PROCESSES": "8"},
        Member("train-0.pods.default.svc.cluster.local:55527", 8, 3),
    ),
    (GKE, Member("a:8482", 2, 1)),
    (GKE | SLICES, Member("job-0.svc:8482", 6, 5)),
    (GKE | {"TPU_PROCESS_ADDRESSES": "c:1,d:2,e:3"}, Member("c:8482", 3, 1)),
]


@pytest.fixture(autouse=True)
def _has_chips(monkeypatch):
    monkeypatch.setattr(clusters, "_has_tpu_library", lambda environment: True)


@pytest.mark.parametrize(("environment", "member"), FOUND)
def test_clusters_are_found(environment, member):
    skip = {"TPU_SKIP_MDS_QUERY": "1"}  # there is no metadata server here
    assert find(NOTHING, None, None, {**environment, **skip}) == member


def test_numbers_of_an_old_open_mpi_and_ipv6():
    uri = "1314521088.0;tcp6://[fe80::b9b:ac5d:9cf0:b858,2620:10d:c083:150e::3000:2]:43370"
    found = find(NOTHING, "ompi", None, OMPI | {"OMPI_MCA_orte_hnp_uri": uri})
    assert found.address == "[fe80::b9b:ac5d:9cf0:b858]:" + str(65536 - 4096 + 320928 % 4096)


def test_what_is_given_comes_first():
    found = find(("host:1", None, 4), None, 7, SLURM)
    assert found == Member("host:1", 12, 4, (7,))
    assert find(("host:1", 5, 4), "deactivate", None, SLURM) == Member("host:1", 5, 4)


def _answering(answers):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            text = answers.get(self.path)
            self.send_response(404 if text is None else 200)
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_google_compute_engine_says_it_in_metadata():
    attributes = "/computeMetadata/v1/instance/attributes/"
    server = _answering(
        {
            attributes + "agent-worker-number": "1",
            attributes + "worker-network-endpoints": "x:0:10.0.0.1,y:1:10.0.0.2",
            attributes + "tpu-env": "ZONE: 'z'\nMEGASCALE_NUM_SLICES: '2'\nMEGASCALE_SLICE_ID: '1'",
        }
    )
    try:
        host = f"127.0.0.1:{server.server_port}"
        assert find(NOTHING, None, None, {"GCE_METADATA_IP": host}) == Member("10.0.0.1:8482", 4, 3)
        server.shutdown()
        assert clusters.chosen(None, {"TPU_SKIP_MDS_QUERY": "1"}) is None
    finally:
        server.server_close()


def test_kubernetes_says_how_many_pods_a_job_has(tmp_path):
    (tmp_path / "token").write_text("secret")
    (tmp_path / "namespace").write_text("space\n")
    path = "/apis/batch/v1/namespaces/space/jobs/train"
    server = _answering({path: '{"spec": {"parallelism": 16, "completions": 16}}'})
    environment = KUBERNETES | {
        "KUBERNETES_SERVICE_PORT": str(server.server_port),
        "EFFAX_KUBERNETES_SCHEME": "http",
        "EFFAX_SERVICE_ACCOUNT": str(tmp_path),
        "TPU_SKIP_MDS_QUERY": "1",
    }
    try:
        assert find(NOTHING, None, None, environment).count == 16
        with pytest.raises(ValueError, match="does not say how many pods the job 'other' has"):
            find(NOTHING, "k8s", None, environment | {"EFFAX_POD_NAME": "other-3.pods"})
        with pytest.raises(ValueError, match="needs a headless service"):
            find(NOTHING, "k8s", None, environment | {"EFFAX_POD_NAME": "train-3"})
    finally:
        server.shutdown()
        server.server_close()


REFUSED = [
    ((None, 2, 0), None, {}, ValueError, "coordinator_address should be defined"),
    (("h:1", None, 0), "deactivate", SLURM, ValueError, "num_processes should be defined"),
    (("h:1", 2, None), None, {}, ValueError, "process_id should be defined"),
    (("h:1", 2, 2), None, {}, ValueError, "from 0 to num_processes - 1, got 2 of 2"),
    (("h:1", 2, -1), None, {}, ValueError, "got -1 of 2"),
    (("h:1", "2", 0), None, {}, TypeError, "num_processes must be an int, got '2'"),
    (("h", 2, 0), None, {}, ValueError, "'host:port', got 'h'"),
    (NOTHING, "slurms", SLURM, ValueError, "cluster_detection_method must be .* got 'slurms'"),
    (NOTHING, "slurm", {"SLURM_JOB_ID": "1"}, ValueError, "SLURM_STEP_NODELIST.* not set"),
]


@pytest.mark.parametrize(("given", "method", "environment", "kind", "match"), REFUSED)
def test_refusals(given, method, environment, kind, match):
    skip = {"TPU_SKIP_MDS_QUERY": "1"}
    with pytest.raises(kind, match=match):
        find(given, method, None, {**environment, **skip})


def test_joining_comes_before_the_first_device():
    import effax

    effax.devices()
    with pytest.raises(RuntimeError, match="must happen before backends are initialized"):
        distributed.initialize("127.0.0.1:1234", 2, 0)
    assert not distributed.is_initialized()


def test_variables_that_jax_reads(monkeypatch):
    from effax.distributed.joining import _environment

    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "10.0.0.1:1234")
    monkeypatch.setenv("JAX_LOCAL_DEVICE_IDS", "2,3")
    monkeypatch.setenv("EFFAX_LOCAL_DEVICE_IDS", "0")
    monkeypatch.delenv("EFFAX_COORDINATOR_ADDRESS", raising=False)
    found = _environment()
    assert found["EFFAX_COORDINATOR_ADDRESS"] == "10.0.0.1:1234"
    assert found["EFFAX_LOCAL_DEVICE_IDS"] == "0"
