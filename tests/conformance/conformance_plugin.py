"""pytest plugin used inside every test subprocess started by run_suite.py.

It does three things:

* loads test modules itself, so that the module's ``import jax...`` statements
  can be redirected (see redirect.py) without touching its source text;
* appends one JSON line per test event to $HARNESS_PROGRESS, so that the driver
  knows what happened even when the process dies half way;
* enforces a per-test time limit (SIGALRM).

Environment variables (all set by run_suite.py):
  HARNESS_TARGET        package standing in for jax ("jax", "effax", ...)
  HARNESS_NATIVE        "1": no redirection at all, use the real jax._src
  HARNESS_PROGRESS      path of the JSON-lines progress file
  HARNESS_DONE          path of a JSON list of test ids not to run again
  HARNESS_SAMPLE        per cent of the tests to run
  HARNESS_SALT          changes which tests a sample is of
  HARNESS_PART          "all", "shown" or "reserved": see _reserved
  HARNESS_ONLY          path of an earlier result: only what it has not passed is run
  HARNESS_TEST_TIMEOUT  seconds per test (0: no limit)
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import time
import types
import unittest
import zlib

import pytest

_PROGRESS = os.environ.get("HARNESS_PROGRESS")
_NATIVE = os.environ.get("HARNESS_NATIVE") == "1"
_TIMEOUT = float(os.environ.get("HARNESS_TEST_TIMEOUT", "0"))
_INTERNAL_MARK = "needs-internal:"


def _emit(**record):
    if not _PROGRESS:
        return
    with open(_PROGRESS, "a") as f:
        f.write(json.dumps(record) + "\n")


def _short_id(nodeid: str) -> str:
    return nodeid.split("::", 1)[1] if "::" in nodeid else nodeid


# ---------------------------------------------------------------- module load


@contextlib.contextmanager
def _importing():
    if _NATIVE:
        yield
        return
    import jaxshims
    import redirect

    jaxshims.importing = True
    redirect.begin_collection()
    if redirect.TARGET != "jax":
        from absl.testing import parameterized

        parameterized.named_parameters = _with_unique_names(parameterized.named_parameters)
    try:
        yield
    finally:
        jaxshims.importing = False
        redirect.end_collection()


def _with_unique_names(named_parameters):
    """Tests named after functions, in a target where one has two names."""

    def unique(*testcases):
        if len(testcases) == 1 and not isinstance(testcases[0], (dict, tuple)):
            testcases = tuple(testcases[0])
        seen: dict[str, int] = {}
        out = []
        for case in testcases:
            if isinstance(case, dict) and "testcase_name" in case:
                name = case["testcase_name"]
                seen[name] = seen.get(name, 0) + 1
                if seen[name] > 1:
                    case = dict(case, testcase_name=f"{name}__{seen[name]}")
            out.append(case)
        return named_parameters(*out)

    return unique


class _TestModule(pytest.Module):
    """A test file whose ``import`` statements go through redirect.py."""

    def _getobj(self):
        path = str(self.path)
        name = self.path.stem
        module = types.ModuleType(name)
        module.__file__ = path
        module.__package__ = ""
        if not _NATIVE:
            import redirect

            module.__dict__["__builtins__"] = redirect.test_builtins()
            module.__dict__["__harness_test__"] = True
        sys.modules[name] = module
        try:
            with open(path, "rb") as f:
                code = compile(f.read(), path, "exec", dont_inherit=True)
            with _importing():
                exec(code, module.__dict__)
        except unittest.SkipTest as e:
            raise pytest.skip.Exception(str(e), allow_module_level=True) from None
        except pytest.skip.Exception as e:
            e.allow_module_level = True
            raise
        return module


def pytest_pycollect_makemodule(module_path, parent):
    return _TestModule.from_parent(parent, path=module_path)


def pytest_configure(config):
    for marker in ("multiaccelerator", "SlurmMultiNodeGpuTest"):
        config.addinivalue_line("markers", f"{marker}: set by the jax test suite")
    if not _NATIVE:
        import redirect

        redirect.install()


# ------------------------------------------------------------------ selection


def _base_name(item) -> str:
    """The test method's name without the suffix that absl's parameters add."""
    f = getattr(item.cls, item.originalname or item.name, None) if item.cls else None
    while f is not None and hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    name = getattr(f, "__name__", item.name)
    return name if name.startswith("test") else item.name


# Parameters that name the operation under test: variants of a test method for
# different operations are counted apart.
_OP_PARAMETERS = (
    "op_name",
    "op",
    "np_op",
    "jnp_op",
    "name",
    "func",
    "fun",
    "fn",
    "dist",
    "primitive",
    "reduction",
    "jnp_fun",
    "np_fun",
    "algorithm",
    "dist_name",
)


def _operation(item):
    f = getattr(item.cls, item.originalname or item.name, None) if item.cls else None
    while f is not None:
        cells = getattr(f, "__closure__", None) or ()
        code = getattr(f, "__code__", None)
        for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
            if name == "testcase_params":
                params = cell.cell_contents
                if isinstance(params, dict):
                    return tuple(
                        getattr(params[k], "__name__", str(params[k]))
                        for k in _OP_PARAMETERS
                        if k in params
                    )
        f = getattr(f, "__wrapped__", None)
    return ()


def _thin(items, limit):
    """At most ``limit`` variants of each parameterized test, evenly spread."""
    groups: dict = {}
    for item in items:
        key = (item.cls, _base_name(item), _operation(item))
        groups.setdefault(key, []).append(item)
    keep = set()
    for members in groups.values():
        n = len(members)
        if n <= limit:
            keep.update(map(id, members))
        else:
            keep.update(id(members[i * n // limit]) for i in range(limit))
    return keep


def _mark_harness_limits(items):
    import suite

    for item in items:
        limits = suite.HARNESS_LIMITS.get(item.path.stem)
        if limits and item.cls is not None:
            why = limits.get(f"{item.cls.__name__}::{_base_name(item)}")
            if why:
                item.add_marker(pytest.mark.skip(reason=f"{_INTERNAL_MARK} harness: {why}"))


def _reserved(test_id: str) -> bool:
    """Whether a test is of the fifth kept back, all variants of a method alike."""
    return zlib.crc32(re.sub(r"\d+$", "", test_id).encode()) % 5 == 0


def pytest_collection_modifyitems(config, items):
    if not _NATIVE:
        _mark_harness_limits(items)
    limit = int(os.environ.get("HARNESS_MAX_PER_TEST", "0"))
    if limit:
        keep_ids = _thin(items, limit)
        dropped = [i for i in items if id(i) not in keep_ids]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = [i for i in items if id(i) in keep_ids]
    sample = int(os.environ.get("HARNESS_SAMPLE", "100"))
    if sample < 100:
        salt = os.environ.get("HARNESS_SALT", "")
        items[:] = [
            i for i in items if zlib.crc32((salt + _short_id(i.nodeid)).encode()) % 100 < sample
        ]
    part = os.environ.get("HARNESS_PART", "all")
    if part != "all":
        items[:] = [i for i in items if _reserved(_short_id(i.nodeid)) == (part == "reserved")]
    only_file = os.environ.get("HARNESS_ONLY")
    if only_file and items:
        with open(only_file) as f:
            files = json.load(f)["files"]
        outcomes = files.get(items[0].path.stem, {}).get("tests", {})
        only = {test for test, outcome in outcomes.items() if outcome != "passed"}
        items[:] = [i for i in items if _short_id(i.nodeid) in only]
    done_file = os.environ.get("HARNESS_DONE")
    if done_file and os.path.exists(done_file):
        with open(done_file) as f:
            done = set(json.load(f))
        keep = [i for i in items if _short_id(i.nodeid) not in done]
        dropped = [i for i in items if _short_id(i.nodeid) in done]
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = keep
    _emit(event="collected", n=len(items), ids=[_short_id(i.nodeid) for i in items])


def pytest_collectreport(report):
    if report.outcome == "failed":
        text = report.longreprtext
        _emit(event="collect_error", id=report.nodeid, error=_last_line(text), detail=text[-6000:])
    elif report.outcome == "skipped":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _emit(event="collect_skip", id=report.nodeid, reason=reason)


# -------------------------------------------------------------------- results


def _last_line(text: str) -> str:
    """The line naming the exception, out of a pytest failure text."""
    lines = [line for line in text.splitlines() if line.startswith("E ")]
    if lines:
        head = re.sub(r"^E\s+", "", lines[0])
        # Prefer the line that begins with an exception name, if there is one.
        for line in lines:
            line = re.sub(r"^E\s+", "", line)
            if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt|Warning|Skip\w*)\b", line):
                head = line
                break
        return head[:300]
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else ""


def pytest_runtest_logstart(nodeid, location):
    _emit(event="start", id=_short_id(nodeid), t=time.time())


_reports: dict[str, dict] = {}
_PLACEHOLDER = re.compile(r"<missing ((?:jax\._src|jaxlib)[\w.]*)>|jaxshims\.Missing'")


_SWALLOWED = re.compile(r'does not match "needs-internal: ([^"]*)"')
_PRIVATE = re.compile(r"^E\s+AttributeError: (.*has no attribute '_[a-z]\w*')", re.M)


def _private_name(text: str) -> str | None:
    """Return the private object that the failed test needs, if it failed for want of one."""
    found = _PLACEHOLDER.search(
        "\n".join(line for line in text.splitlines() if line.startswith("E "))
    )
    if found:  # the target was handed a placeholder for a private object
        return found.group(1) or "jax._src (placeholder as operand)"
    found = _SWALLOWED.search(text)
    if found:  # assertRaisesRegex(Exception, ...) caught the skip
        return found.group(1)
    found = _PRIVATE.search(text)
    if found:  # the test itself looks into a public object
        frames = re.findall(r"^(\S+):\d+: in ", text, re.M)
        if frames and frames[-1].startswith("../tests/"):
            return "private attribute: " + found.group(1)
    return None


def pytest_runtest_logreport(report):
    rec = _reports.setdefault(report.nodeid, {"outcome": "passed", "dur": 0.0})
    rec["dur"] += report.duration
    if report.outcome == "failed":
        if rec["outcome"] != "failed":
            text = report.longreprtext
            private = None if _NATIVE else _private_name(text)
            if private:
                rec["outcome"] = "internal"
                rec["reason"] = private
            else:
                rec["outcome"] = "failed"
                rec["error"] = _last_line(text)
                rec["detail"] = text[-5000:]
                rec["phase"] = report.when
    elif report.outcome == "skipped" and rec["outcome"] == "passed":
        if isinstance(report.longrepr, tuple):
            reason = report.longrepr[2]
        else:
            reason = str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if hasattr(report, "wasxfail"):
            rec["outcome"] = "skipped"
            reason = "xfail: " + (report.wasxfail or "")
        elif _INTERNAL_MARK in reason:
            rec["outcome"] = "internal"
            reason = reason.split(_INTERNAL_MARK, 1)[1].strip()
        else:
            rec["outcome"] = "skipped"
        rec["reason"] = reason[:300]


def pytest_runtest_logfinish(nodeid, location):
    rec = _reports.pop(nodeid, None)
    if rec is not None:
        rec["dur"] = round(rec["dur"], 3)
        _emit(event="result", id=_short_id(nodeid), **rec)


def pytest_sessionfinish(session, exitstatus):
    t = os.times()
    _emit(event="finish", status=int(exitstatus), cpu=round(t.user + t.system, 1))


# -------------------------------------------------------------------- timeout


class TestTimeout(BaseException):
    pass


def _on_alarm(signum, frame):
    raise TestTimeout(f"test exceeded {_TIMEOUT:g} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if not _TIMEOUT:
        return (yield)
    old = signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, _TIMEOUT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
