"""`python -m effax.distributed run ...`: a job of several processes on this machine."""

from __future__ import annotations

import argparse
import sys

from effax.distributed.supervisor import Supervisor


def main(arguments: list[str]) -> int:
    """Run a job as the command line says; its exit code."""
    parser = argparse.ArgumentParser(prog="python -m effax.distributed")
    commands = parser.add_subparsers(required=True, metavar="run")
    run = commands.add_parser(
        "run",
        help="start a script in several processes on this machine",
        description="Start a script, which calls effax.distributed.initialize(), in several "
        "processes. When one ends by an error the others are ended too, and with --restarts all "
        "are started again. The exit code is that of the first process that failed.",
    )
    run.add_argument("-n", "--processes", type=int, required=True, metavar="N")
    run.add_argument(
        "--devices", type=int, metavar="M", help="devices of the CPU in each process (1)"
    )
    run.add_argument(
        "--restarts", type=int, default=0, metavar="K", help="how often to start again (0)"
    )
    run.add_argument(
        "--grace",
        type=float,
        default=15.0,
        metavar="S",
        help="seconds that processes have to end when one has failed, or after a signal (15)",
    )
    run.add_argument("-m", dest="module", action="store_true", help="the script is a module's name")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(arguments)
    if chosen.processes < 1:
        run.error(f"--processes must be at least 1, got {chosen.processes}")
    command = [sys.executable, *(["-m"] if chosen.module else []), chosen.script]
    supervisor = Supervisor(
        [*command, *chosen.arguments], chosen.processes, chosen.devices, chosen.grace
    )
    return supervisor.run(chosen.restarts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
