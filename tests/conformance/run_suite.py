#!/usr/bin/env python3
"""Run JAX's own test files, unmodified, against jax or a stand-in for it.

  python run_suite.py --target jax   --group smoke --out r.json
  python run_suite.py --target effax --files lax_test,lax_numpy_test \
      --num-cases 4 --workers 2 --out result.json --compare earlier.json

See README.md.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import suite  # noqa: E402
from file_run import OUTCOMES, FileRun, child_env, say  # noqa: E402

INI = """\
[pytest]
addopts = -p no:cacheprovider
python_functions = test_*
filterwarnings =
    {warnings}
    ignore:Transparent hugepages
    ignore:.*fork\\(\\).*:DeprecationWarning
    ignore:.*fork\\(\\).*:RuntimeWarning
"""


def target_version(args) -> str:
    code = (
        f"import {args.target} as t, sys; "
        "print(getattr(t, '__version__', '?'), '| python', "
        "sys.version.split()[0])"
    )
    proc = subprocess.run(
        [args.python, "-c", code],
        text=True,
        env=child_env(args, "", ""),
        capture_output=True,
    )
    if proc.returncode != 0:
        lines = proc.stderr.strip().splitlines() or ["?"]
        sys.exit(f"cannot import target {args.target!r} with {args.python}: {lines[-1]}")
    return proc.stdout.strip().splitlines()[-1]


COLUMNS = ("passed", "failed", "timeout", "crashed", "skipped", "internal")


def table(files: dict[str, dict]) -> str:
    w = max([len(f) for f in files] + [10])
    rows = [
        f"{'file':{w}} "
        + " ".join(f"{c:>8}" for c in COLUMNS)
        + f" {'collerr':>8} {'rate':>7} {'sec':>6} {'cpu':>6}"
    ]
    total = collections.Counter()
    for f, s in files.items():
        rate = "" if s["pass_rate"] is None else f"{100 * s['pass_rate']:.1f}%"
        rows.append(
            f"{f:{w}} "
            + " ".join(f"{s[c]:>8}" for c in COLUMNS)
            + f" {s['collection_errors']:>8} {rate:>7} {s['seconds']:>6.0f}"
            f" {s['cpu_seconds']:>6.0f}"
        )
        for c in COLUMNS + ("collection_errors", "seconds", "cpu_seconds", "runnable"):
            total[c] += s[c]
    rate = f"{100 * total['passed'] / total['runnable']:.1f}%" if total["runnable"] else ""
    rows.append(
        f"{'TOTAL':{w}} "
        + " ".join(f"{total[c]:>8}" for c in COLUMNS)
        + f" {total['collection_errors']:>8} {rate:>7} "
        f"{total['seconds']:>6.0f} {total['cpu_seconds']:>6.0f}"
    )
    return "\n".join(rows)


def compare(new: dict, old_path: str, verbose: bool) -> str:
    with open(old_path) as f:
        old = json.load(f)
    lines = [
        f"compared with {old_path} ({old['meta']['target']}, {old['meta']['target_version']}):"
    ]
    for name, s in new["files"].items():
        o = old["files"].get(name)
        if o is None or "tests" not in o or "tests" not in s:
            continue
        a, b = o["tests"], s["tests"]
        lost = [t for t in a if a[t] == "passed" and b.get(t) != "passed"]
        won = [t for t in b if b[t] == "passed" and a.get(t) != "passed"]
        kinds = collections.Counter(b.get(t, "absent") for t in lost)
        if lost or won:
            lines.append(
                f"  {name}: +{len(won)} -{len(lost)} "
                + (f"({', '.join(f'{k} {n}' for k, n in kinds.items())})" if lost else "")
            )
        if verbose:
            lines += [f"    - {t}: {b.get(t, 'absent')}" for t in lost]
            lines += [f"    + {t}: was {a.get(t, 'absent')}" for t in won]
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument(
        "--target", default="effax", help="package that stands in for jax (jax, effax, ...)"
    )
    p.add_argument(
        "--native",
        action="store_true",
        help="no shims: JAX's own jax._src internals (target jax only)",
    )
    p.add_argument("--files", help="comma-separated test files")
    p.add_argument("--group", help="comma-separated groups: all, " + ", ".join(suite.GROUPS))
    p.add_argument("--list", action="store_true", help="list groups and stop")
    p.add_argument(
        "--num-cases",
        type=int,
        default=4,
        help="samples per sample_product test (JAX's default is 10)",
    )
    p.add_argument(
        "--max-per-test",
        type=int,
        default=6,
        help="run at most so many variants of one test method, evenly spread (0: all)",
    )
    p.add_argument("--workers", type=int, default=2, help="test files run at the same time")
    p.add_argument("--timeout", type=float, default=1200, help="seconds per file")
    p.add_argument("--test-timeout", type=float, default=60, help="seconds per test")
    p.add_argument(
        "--max-restarts", type=int, default=20, help="restarts of a file after a crash or a hang"
    )
    p.add_argument("--x64", action="store_true", help="JAX_ENABLE_X64=1")
    p.add_argument("--slow", action="store_true", help="also tests that JAX_SKIP_SLOW_TESTS skips")
    p.add_argument(
        "--warnings",
        default="error",
        choices=("error", "default"),
        help="what an unexpected warning is (JAX's own: error)",
    )
    p.add_argument("-k", help="pytest -k expression")
    p.add_argument(
        "--sample",
        type=int,
        default=100,
        help="run so many per cent of the tests, by a hash of their ids",
    )
    p.add_argument("--salt", default="", help="changes which tests a --sample is of")
    p.add_argument(
        "--part",
        default="shown",
        choices=("shown",),
        help="four fifths of the tests; the rest is kept for acceptance",
    )
    p.add_argument("--only", help="run only the tests that an earlier result file has not passed")
    p.add_argument("--pytest-args", default="", help="more pytest options")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--path", default="", help="directories to put on PYTHONPATH (where effax is)")
    p.add_argument("--jax-repo", default=os.environ.get("JAX_REPO", suite.DEFAULT_REPO))
    p.add_argument("--ref", default=os.environ.get("JAX_REF", suite.DEFAULT_REF))
    p.add_argument("--out", help="result file (JSON)")
    p.add_argument(
        "--no-tests", action="store_true", help="leave per-test outcomes out of the result"
    )
    p.add_argument("--details", action="store_true", help="keep the failure texts in the result")
    p.add_argument("--compare", help="an earlier result file")
    p.add_argument("--verbose", "-v", action="store_true")
    p.add_argument("--keep", action="store_true", help="keep the temporary directory (tests, logs)")
    args = p.parse_args(argv)

    if args.list:
        for g, files in suite.GROUPS.items():
            print(f"{g}: {' '.join(files)}")
        print("\nexcluded:")
        for f, why in suite.EXCLUDED.items():
            print(f"  {f}: {why}")
        return 0
    if args.native and args.target != "jax":
        p.error("--native makes sense for --target jax only")
    files = suite.resolve_files(args.files, args.group)
    if args.only and not files:
        with open(args.only) as f:
            files = [
                name
                for name, s in json.load(f)["files"].items()
                if any(outcome != "passed" for outcome in s["tests"].values())
            ]
    if not files:
        p.error("nothing to run: give --files or --group")

    tmp = (
        tempfile.TemporaryDirectory(prefix="jax-suite-", delete=not args.keep)
        if sys.version_info >= (3, 12)
        else tempfile.TemporaryDirectory(prefix="jax-suite-")
    )
    root = pathlib.Path(tmp.name)
    if args.keep and sys.version_info < (3, 12):
        tmp._finalizer.detach()
    (root / "work").mkdir()
    (root / "pytest.ini").write_text(INI.format(warnings=args.warnings))
    version = target_version(args)
    source = suite.extract_tests(root, args.jax_repo, args.ref)
    say(
        f"target {args.target} {version}; tests from {source}; "
        f"{len(files)} files, {args.num_cases} cases, {args.workers} worker(s)"
        + (f"; kept in {root}" if args.keep else "")
    )

    start = time.time()
    results: dict[str, dict] = {}

    meta = dict(
        target=args.target,
        target_version=version,
        native=args.native,
        tests=source,
        num_cases=args.num_cases,
        max_per_test=args.max_per_test,
        sample=args.sample,
        x64=args.x64,
        slow=args.slow,
        workers=args.workers,
        date=datetime.datetime.now().isoformat(timespec="seconds"),
        machine=f"{platform.machine()}, {os.cpu_count()} cores",
    )
    write_lock = threading.Lock()

    def result_so_far():
        ordered = {f: results[f] for f in files if f in results}
        totals = {
            c: sum(s[c] for s in ordered.values())
            for c in OUTCOMES + ("collection_errors", "runnable", "not_run")
        }
        meta["seconds"] = round(time.time() - start, 1)
        return dict(meta=meta, totals=totals, files=ordered)

    def write():
        if args.out:
            with write_lock:
                with open(args.out + ".tmp", "w") as f:
                    json.dump(result_so_far(), f, indent=1)
                    f.write("\n")
                os.replace(args.out + ".tmp", args.out)

    def one(name):
        run = FileRun(args, name, root)
        try:
            run.run()
        except Exception as e:
            run.collect_errors.append(dict(id=name, error=f"harness error: {e!r}"))
        s = run.summary()
        rate = "-" if s["pass_rate"] is None else f"{100 * s['pass_rate']:.1f}%"
        say(
            f"{name}: {s['passed']} passed, {s['failed']} failed, "
            f"{s['timeout'] + s['crashed']} timeout/crashed, {s['skipped']} skipped,"
            f" {s['internal']} internal, {s['collection_errors']} collection errors"
            f" ({rate}) {s['seconds']:.0f}s"
        )
        for e in s["collect_errors"]:
            say(f"  collection: {e['error']}")
        if args.verbose:
            for f in s["failures"]:
                say(f"  {f['outcome']}: {f['id']}: {f['error']}")
        results[name] = s
        write()

    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        list(pool.map(one, files))

    result = result_so_far()
    say("\n" + table(result["files"]))
    if args.compare:
        say("\n" + compare(result, args.compare, args.verbose))
    if not args.keep:
        tmp.cleanup()
    return 0


if __name__ == "__main__":
    sys.exit(main())
