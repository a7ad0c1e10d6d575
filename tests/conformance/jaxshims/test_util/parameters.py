"""Sets of parameters, and samples of them."""

from __future__ import annotations

import collections
import math
import random as py_random
import re

from absl.testing import parameterized

import jaxshims
from jaxshims.test_util.devices import NUM_GENERATED_CASES


def _sample_indices(total, count):
    if total <= count:
        return range(total)
    return sorted(py_random.Random(total * 7919 + 17).sample(range(total), count))


def sample_product_testcases(*args, **kw):
    """A sample of the cartesian product, as a list of keyword dicts.

    Positional arguments are sequences of dicts, whose keys vary together.
    """
    axes = [list(a) for a in args]
    axes += [[{k: v} for v in vs] for k, vs in kw.items()]
    sizes = [len(a) for a in axes]
    cases = []
    for flat in _sample_indices(math.prod(sizes), NUM_GENERATED_CASES.value):
        case = {}
        for axis, size in zip(reversed(axes), reversed(sizes), strict=False):
            flat, i = divmod(flat, size)
            for k in axis[i]:
                assert k not in case, f"{k} given twice"
            case.update(axis[i])
        cases.append(case)
    return cases


def sample_product(*args, **kw):
    for values in (*args, *kw.values()):
        if isinstance(values, jaxshims.Missing):
            return _fails_with(values)
    return parameterized.parameters(*sample_product_testcases(*args, **kw))


def _fails_with(placeholder):
    """Instead of a test whose parameters are not known."""

    def decorate(test):
        def fail(self):
            placeholder._fail()

        fail.__name__ = test.__name__
        return fail

    return decorate


def cases_from_gens(*gens):
    """Named cases made by generator functions of a size."""
    sizes = [1, 3, 10]
    per_size = NUM_GENERATED_CASES.value // len(sizes) + 1
    for size in sizes:
        for i in range(per_size):
            yield (f"_{size}_{i}",) + tuple(gen(size) for gen in gens)


def named_cases_from_sampler(gen):
    """Named cases from a generator that draws single values with a sampler."""
    rng = py_random.Random(42)
    seen = {}
    retries = 0

    def one_of(xs):
        return [rng.choice(list(xs))]

    wanted = NUM_GENERATED_CASES.value
    while wanted > 0 and retries < 100:
        fresh = False
        for case in gen(one_of):
            if wanted > 0 and case["testcase_name"] not in seen:
                seen[case["testcase_name"]] = case
                wanted -= 1
                fresh = True
                yield case
        if not fresh:
            retries += 1


def sanitize_test_name(s: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_]+", "_", s).strip("_")


def parameterized_filterable(*, kwargs, testcase_name=None, one_containing=None):
    """Parameterized tests whose names tell the parameters."""
    cases = [dict(kw) for kw in kwargs]

    def describe(value):
        if isinstance(value, (bool, int, float, str, type(None))):
            return str(value)
        if isinstance(value, (list, tuple)):
            return "_".join(describe(v) for v in value)
        return getattr(value, "__name__", None) or str(value)

    named = []
    for _i, kw in enumerate(cases):
        name = kw.pop("testcase_name", None)
        if name is None:
            if testcase_name is not None:
                name = testcase_name(kw)
            else:
                name = ",".join(f"{k}={describe(v)}" for k, v in kw.items())
        named.append((sanitize_test_name(str(name)), kw))
    counts = collections.Counter(n for n, _ in named)
    used = collections.Counter()
    out = []
    for name, kw in named:
        if one_containing is not None and one_containing not in name:
            continue
        if counts[name] > 1:
            used[name] += 1
            name = f"{name}_{used[name]}"
        out.append(dict(testcase_name=f"_{name}" if name else "", **kw))
    return parameterized.named_parameters(*out)
