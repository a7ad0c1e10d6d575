"""Measure a server: requests a second, and how long one takes.

    python client.py http://127.0.0.1:8000 --connections 16 --requests 2000
    python client.py --compare model.effax          # starts servers with and without batches

Each connection is a thread that sends one request after another. All of it is bounded: by the
number of requests, by a time limit for each, and by one for all.
"""

from __future__ import annotations

import argparse
import http.client
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from npy import pack, unpack

TIMEOUT = 15.0
"""Seconds for one request."""


def predict(connection, x):
    """The server's result for one example. Raises RuntimeError for an answer that is an error."""
    connection.request("POST", "/predict", pack(x))
    response = connection.getresponse()
    body = response.read()
    if response.status != 200:
        raise RuntimeError(f"{response.status}: {body.decode(errors='replace')}")
    return unpack(body)


def connect(url):
    where = urlsplit(url)
    return http.client.HTTPConnection(where.hostname, where.port, timeout=TIMEOUT)


def measure(url, examples, connections=16, requests=2000, limit=60.0):
    """Requests a second and the seconds of each, and the results by example."""
    times, results, errors = [], {}, []
    numbers, end = iter(range(requests)), time.monotonic() + limit
    lock = threading.Lock()

    def send():
        connection = connect(url)
        try:
            while time.monotonic() < end and not errors:
                with lock:
                    i = next(numbers, None)
                if i is None:
                    return
                start = time.perf_counter()
                found = predict(connection, examples[i % len(examples)])
                times.append(time.perf_counter() - start)
                results[i % len(examples)] = found
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, daemon=True) for _ in range(connections)]
    start = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join(limit + TIMEOUT)
    if errors:
        raise errors[0]
    return len(times) / (time.perf_counter() - start), np.sort(times), results


def row(name, rate, times):
    p50, p99 = (np.percentile(times, q) * 1000 for q in (50, 99))
    return f"{name:>24} {rate:8.0f} requests/s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms"


def start_server(program, *arguments):
    """A server's process, and its address."""
    command = [sys.executable, str(Path(__file__).with_name("server.py")), str(program)]
    process = subprocess.Popen(
        [*command, "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    if not address:
        process.wait(TIMEOUT)
        raise RuntimeError("the server did not start")
    return process, address


def compare(program, examples, connections, requests):
    for name, options in {
        "no batches": ["--max-batch", 1, "--max-wait-ms", 0],
        "up to 32, no waiting": ["--max-batch", 32, "--max-wait-ms", 0],
        "up to 32, within 2 ms": ["--max-batch", 32, "--max-wait-ms", 2],
    }.items():
        process, address = start_server(program, *options)
        try:
            for n in connections:
                rate, times, _ = measure(address, examples, n, requests)
                print(f"{n:3} connections" + row(name, rate, times), flush=True)
        finally:
            process.terminate()
            process.wait(TIMEOUT)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?")
    parser.add_argument("--compare", metavar="PROGRAM")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--length", type=int, default=64, help="numbers of an example")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    examples = [rng.random(options.length).astype(np.float32) for _ in range(16)]
    if options.compare:
        compare(options.compare, examples, options.connections, options.requests)
        return
    for n in options.connections:
        rate, times, _ = measure(options.url, examples, n, options.requests)
        print(row(f"{n} connections", rate, times))


if __name__ == "__main__":
    main()
