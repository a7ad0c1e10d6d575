"""Serve an exported program over HTTP: requests are collected into batches.

    python server.py model.effax --port 8000 --max-batch 32 --max-wait-ms 2

`POST /predict` takes one example as the bytes of a `.npy` file, and returns its result in the same
form. A batch starts when it is full, or when its first request has waited for `--max-wait-ms`. It is
padded to a power of two, so that XLA compiles the program for few sizes, all before the first
request. `GET /stats` counts requests and batches. Only jaxlib and NumPy are needed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import queue
import signal
import sys
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from npy import pack, unpack
from run_exported import Program

LARGEST_BODY = 1 << 20
"""Bytes of a request; a longer one is answered with 413."""
PATIENCE = 10.0
"""Seconds that a request waits for its batch, and that a connection may be silent."""


class Full(Exception):
    """More requests wait than the server keeps."""


class Batcher:
    """Collects examples into batches, and runs the program on them in a thread of its own."""

    def __init__(self, program, max_batch=32, max_wait=0.002, max_waiting=1024):
        self.program = program
        ((dtype, shape, _),) = program.header["in_avals"]
        self.dtype, self.shape = np.dtype(dtype), tuple(shape[1:])
        self.max_batch, self.max_wait = max_batch, max_wait
        self.waiting = queue.Queue(max_waiting)
        self.requests = self.batches = 0
        self.sizes = sorted({*(1 << i for i in range(max_batch.bit_length())), max_batch})
        for n in self.sizes:
            program(np.zeros((n, *self.shape), self.dtype))
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def submit(self, x):
        """The future result of one example. Raises ValueError for another type, and Full."""
        if x.shape != self.shape or x.dtype != self.dtype:
            raise ValueError(f"expected {self.dtype}{self.shape}, got {x.dtype}{x.shape}")
        future = Future()
        try:
            self.waiting.put_nowait((x, future))
        except queue.Full:
            raise Full("too many requests wait; try again later") from None
        return future

    def stop(self):
        """End the thread after the batches that wait."""
        self.waiting.put(None)
        self.thread.join(PATIENCE)

    def work(self):
        while (first := self.waiting.get()) is not None:
            batch, last = self.collect(first)
            live = [(x, f) for x, f in batch if f.set_running_or_notify_cancel()]
            if live:
                self.run(live)
            if last:
                return

    def collect(self, first):
        """The requests of a batch, and whether the server stops after it."""
        batch, end = [first], time.monotonic() + self.max_wait
        while len(batch) < self.max_batch:
            left = end - time.monotonic()
            try:
                # What waits already is taken in any case.
                found = self.waiting.get(block=left > 0, timeout=max(left, 0))
            except queue.Empty:
                break
            if found is None:
                return batch, True
            batch.append(found)
        return batch, False

    def run(self, batch):
        n = len(batch)
        rows = np.zeros((next(s for s in self.sizes if s >= n), *self.shape), self.dtype)
        for i, (x, _) in enumerate(batch):
            rows[i] = x
        try:
            (results,) = self.program(rows)
        except Exception as error:  # each request is told; the server goes on
            for _, future in batch:
                future.set_exception(error)
            return
        self.requests, self.batches = self.requests + n, self.batches + 1
        for result, (_, future) in zip(results, batch, strict=False):
            future.set_result(result)


class Handler(BaseHTTPRequestHandler):
    """One connection, which may send many requests."""

    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True  # else a response may wait 40 ms for an acknowledgement
    batcher: Batcher

    def do_POST(self):
        size = int(self.headers.get("Content-Length") or 0)
        if self.path != "/predict":
            return self.refuse(404, f"no such page: {self.path}")
        if not 0 < size <= LARGEST_BODY:
            self.close_connection = True  # the body is not read
            return self.refuse(413, f"a request must have 1 to {LARGEST_BODY} bytes")
        try:
            future = self.batcher.submit(unpack(self.rfile.read(size)))
        except ValueError as error:
            return self.refuse(400, str(error))
        except Full as error:
            return self.refuse(503, str(error))
        try:
            result = future.result(PATIENCE)
        except Late:
            future.cancel()
            return self.refuse(504, f"no result within {PATIENCE:.0f} s")
        except Exception as error:  # whatever the program raised in the batch's thread
            return self.refuse(500, f"{type(error).__name__}: {error}")
        self.answer(200, "application/octet-stream", pack(result))

    def do_GET(self):
        if self.path != "/stats":
            return self.refuse(404, f"no such page: {self.path}")
        counts = {"requests": self.batcher.requests, "batches": self.batcher.batches}
        self.answer(200, "application/json", json.dumps(counts).encode())

    def refuse(self, status, message):
        self.answer(status, "text/plain; charset=utf-8", message.encode())

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_):
        """Only errors are logged."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def serve(batcher, host="127.0.0.1", port=0):
    """A server, which `serve_forever` starts; port 0 takes a free one."""
    handler = type("Bound", (Handler,), {"batcher": batcher})
    return Server((host, port), handler)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--max-batch", type=int, default=32)
    parser.add_argument("--max-wait-ms", type=float, default=2.0)
    options = parser.parse_args()
    with open(options.program, "rb") as file:
        program = Program(file.read())
    batcher = Batcher(program, options.max_batch, options.max_wait_ms / 1000)
    server = serve(batcher, options.host, options.port)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"http://{options.host}:{server.server_port}/predict", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    batcher.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
