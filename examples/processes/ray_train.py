"""The training run of train.py as a job of Ray, started again where a machine is lost.

On this machine, 2 processes with 2 devices each; on a cluster, leave --devices out and say how many
GPUs a process has (--gpus), and where the cluster is (--address):

    pip install ray
    python examples/processes/ray_train.py /tmp/run --processes 2 --devices 2

Ray places the processes and says when one is lost; effax ends those that wait for it, and saves. A
run that is started again goes on from the last checkpoint, in a folder that all machines see.
"""

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

import ray

HERE = Path(__file__).resolve().parent
ATTEMPTS = 10


@ray.remote
class Process:
    """One process of the job, on the machine that Ray chose for it."""

    def address(self) -> str:
        """An address at which the coordination service of this machine may listen."""
        with socket.socket() as free:
            free.bind(("", 0))
            return f"{ray.util.get_node_ip_address()}:{free.getsockname()[1]}"

    def number(self) -> int:
        """The number by which its machine knows this process."""
        return os.getpid()

    def train(self, address: str, count: int, index: int, folder: str) -> None:
        """Join the job that `initialize()` finds in these variables, and train."""
        os.environ |= {
            "EFFAX_COORDINATOR_ADDRESS": address,
            "EFFAX_NUM_PROCESSES": str(count),
            "EFFAX_PROCESS_ID": str(index),
        }
        sys.path.insert(0, str(HERE))
        import train

        import effax

        train.main(folder)
        effax.distributed.shutdown()  # together, so that nobody is missed


def attempt(count: int, gpus: float, environment: dict[str, str], folder: str) -> None:
    """Train with processes of their own, which end with this call."""
    options = {"num_gpus": gpus, "runtime_env": {"env_vars": environment}}
    remote: Any = Process  # what ray.remote makes of the class
    processes = [remote.options(**options).remote() for _ in range(count)]
    try:
        address = ray.get(processes[0].address.remote())
        print(f"processes {ray.get([p.number.remote() for p in processes])}", flush=True)
        work = [p.train.remote(address, count, i, folder) for i, p in enumerate(processes)]
        while work:  # the first that fails is heard of at once
            done, work = ray.wait(work)
            ray.get(done)
    finally:
        for process in processes:
            ray.kill(process)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="of checkpoints")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices", type=int, help="devices of a CPU for each process")
    parser.add_argument("--gpus", type=float, default=0, help="GPUs of each process")
    parser.add_argument("--address", help="of a cluster; by default one on this machine")
    args = parser.parse_args()

    ray.init(address=args.address, include_dashboard=False)
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    if args.devices:
        environment |= {"EFFAX_PLATFORMS": "cpu", "EFFAX_NUM_CPU_DEVICES": str(args.devices)}
    folder = str(Path(args.folder).resolve())
    for left in reversed(range(ATTEMPTS)):
        try:
            return attempt(args.processes, args.gpus, environment, folder)
        except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError) as error:
            print(f"a process was lost, {left} attempts are left: {error}", flush=True)
            if not left:
                raise


if __name__ == "__main__":
    main()
