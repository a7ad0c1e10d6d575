"""One fresh process of a measurement, started by run.py: prints one line of JSON.

child.py effax|jax import            seconds to import the library and its numpy
child.py effax|jax first             the clock when the first jitted result is there
child.py effax|jax twenty            the clock when twenty eager operations have been done
child.py LIBRARY run NAME            the clock at the end of a training, its peak of bytes, its first loss
child.py LIBRARY work NAME...        seconds per call of each workload, several samples of each;
                                     a library other than the two is a peer that the workload names
"""

import os
import resource
import sys
import time

SAMPLES = 9
SERIES_SECONDS = 0.03
LONG_SECONDS, FEW_SAMPLES = 0.5, 3
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def load(library: str):
    """The library and its numpy, imported by name; nothing else is imported before it."""
    if library == "effax":
        import effax as jax
        import effax.numpy as jnp
    else:
        import jax
        import jax.numpy as jnp
    return jax, jnp


def measure(call, clock) -> list[float]:
    """Seconds per call in `SAMPLES` series, each of about `SERIES_SECONDS`; fewer of long ones;
    bytes as they are."""
    if isinstance(call, int):
        return [call]
    count, taken = calls_of_a_series(call, clock)
    samples = SAMPLES if taken < LONG_SECONDS else FEW_SAMPLES
    return [series(call, count, clock) / count for _ in range(samples)]


def measure_factor(call, base, clock) -> float:
    """Time of one call over that of the other: the median over pairs of series, one after the
    other, as the machine's speed changes by two and more within seconds."""
    counts = [calls_of_a_series(f, clock) for f in (call, base)]
    samples = SAMPLES if counts[0][1] < LONG_SECONDS else FEW_SAMPLES
    each = [
        [series(f, n, clock) / n for f, (n, _) in zip((call, base), counts, strict=True)]
        for _ in range(samples)
    ]
    return sorted(one / other for one, other in each)[samples // 2]


def series(call, count: int, clock) -> float:
    """Seconds that so many calls take, the last waited for."""
    start = clock()
    for _ in range(count):
        result = call()
    if hasattr(result, "block_until_ready"):
        result.block_until_ready()
    return clock() - start


def calls_of_a_series(call, clock) -> tuple[int, float]:
    """Return the number of calls that take `SERIES_SECONDS`, and the time that they took."""
    count = 1
    while (taken := series(call, count, clock)) < SERIES_SECONDS:
        count = max(count + 1, int(count * min(10, 1.2 * SERIES_SECONDS / max(taken, 1e-9))))
    return count, taken


def sampler(library: str):
    """name of a workload -> its samples."""
    modules = load(library) if library in ("effax", "jax") else None
    import numpy as np

    from benchmarks.workloads import WORKLOADS

    def samples(name: str) -> list[float]:
        workload = WORKLOADS[name]
        call = workload.make(*modules, np) if modules else workload.peers[library]()
        wanted = "processor" if workload.processor else os.environ.get("EFFAX_BENCH_CLOCK", "wall")
        clock = CLOCKS[wanted]
        if not workload.factor:
            return measure(call, clock)
        return [measure_factor(*call, clock)]

    return samples


def twenty(jnp) -> float:
    """A number by twenty eager operations, all of them different."""
    x, y, z = jnp.arange(6.0), jnp.ones(6), jnp.zeros((2, 3))
    a = ((x + y) * x - y).reshape(2, 3)  # -1 1 5, 11 19 29
    b = jnp.where(a > 4, jnp.sqrt(jnp.maximum(a, z)), z)
    c = b[0] @ b.T  # 5 and the root of 145
    d = jnp.concatenate([c, x[1:3]]).at[1].set(0.5)  # 5 0.5 1 2
    return float(jnp.sum(d) / jnp.max(d))


def main() -> None:
    library, what, *names = sys.argv[1:]
    if what == "import":
        start = time.perf_counter()
        load(library)
        answer = time.perf_counter() - start
    elif what == "first":
        jax, jnp = load(library)
        value = float(jax.jit(lambda x: jnp.sin(x) * 2 + 1)(0.0))
        answer = time.time()
        assert value == 1.0
    elif what == "twenty":
        jax, jnp = load(library)
        value = twenty(jnp)
        answer = time.time()
        assert abs(value - 1.7) < 1e-6, value
    elif what == "run":
        from benchmarks.whole_runs import train

        loss = train(library, names[0])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answer = [time.time(), peak, loss]
    else:
        samples = sampler(library)
        answer = {}
        for name in names:
            try:
                answer[name] = samples(name)
            except Exception as error:  # one failure must not cost the other measurements
                answer[name] = f"{type(error).__name__}: {error}"
    import json

    print(json.dumps(answer))


if __name__ == "__main__":
    main()
