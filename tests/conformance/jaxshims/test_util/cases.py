"""Base classes of the tests, and the settings that they run under."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import warnings
import zlib
from typing import ClassVar

import numpy as np
import wording
from absl.testing import absltest, parameterized

import jaxshims
from jaxshims import _numerics as num
from jaxshims import config as _config
from jaxshims.test_util.comparing import is_sequence
from jaxshims.test_util.devices import _t
from jaxshims.test_util.programs import count_jit_and_pmap_lowerings
from jaxshims.test_warning_util import raise_on_warnings


class JaxTestLoader(absltest.TestLoader):
    pass


def _contexts(options, optional):
    stack = contextlib.ExitStack()
    for option, value in options.items():
        stack.enter_context(_config.override(option, value, optional=optional))
    return stack


class JaxTestCase(parameterized.TestCase):
    """Base class: strict promotion, seeded random operands, comparisons."""

    # What every test runs under; a target that lacks one of these options is
    # not failed for it here.
    _base_options: ClassVar = {
        "jax_enable_checks": True,
        "jax_numpy_dtype_promotion": "strict",
        "jax_numpy_rank_promotion": "raise",
        "jax_traceback_filtering": "off",
        "jax_legacy_prng_key": "error",
    }
    _class_options: ClassVar[dict] = {}

    def setUp(self):
        super().setUp()
        options = {**self._base_options, **self._class_options}
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        for option, value in options.items():
            stack.enter_context(_config.override(option, value, optional=True))
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))

    def rng(self):
        return self._rng

    # -- comparisons

    def assertDtypesMatch(self, actual, desired, *, canonicalize_dtypes=True):
        a, b = num.dtype_of(actual), num.dtype_of(desired)
        if canonicalize_dtypes:
            a, b = num.canonical(a), num.canonical(b)
        self.assertEqual(a, b)

    def _plain_arrays(self, *arrays):
        out = []
        for x in arrays:
            if hasattr(x, "dtype") and not isinstance(num.as_np_dtype(x.dtype), np.dtype):
                x = _t("random.key_data")(x)
            out.append(np.asarray(x))
        return out

    def assertArraysEqual(
        self,
        actual,
        desired,
        *,
        check_dtypes=True,
        err_msg="",
        allow_object_dtype=False,
        verbose=True,
    ):
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        x, y = self._plain_arrays(actual, desired)
        if not allow_object_dtype and (x.dtype == object or y.dtype == object):
            raise TypeError("assertArraysEqual: object arrays are not compared")
        x, y = num._comparable(x), num._comparable(y)
        with np.errstate(over="ignore", invalid="ignore"):
            np.testing.assert_array_equal(x, y, err_msg=err_msg, verbose=verbose)

    def assertArraysAllClose(
        self, actual, desired, *, check_dtypes=True, atol=None, rtol=None, err_msg=""
    ):
        self.assertEqual(np.shape(actual), np.shape(desired))
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        # Tolerances go by canonical dtypes: a float64 reference is not exact.
        da = num.canonical(num.dtype_of(actual))
        db = num.canonical(num.dtype_of(desired))
        atol = max(num.tolerance(da, atol), num.tolerance(db, atol))
        rtol = max(num.tolerance(da, rtol), num.tolerance(db, rtol))
        num.assert_close(actual, desired, atol=atol, rtol=rtol, err_msg=err_msg)

    def assertAllClose(
        self,
        actual,
        desired,
        *,
        check_dtypes=True,
        atol=None,
        rtol=None,
        canonicalize_dtypes=True,
        err_msg="",
    ):
        again = functools.partial(
            self.assertAllClose,
            check_dtypes=check_dtypes,
            atol=atol,
            rtol=rtol,
            canonicalize_dtypes=canonicalize_dtypes,
            err_msg=err_msg,
        )

        def arrayish(x):
            return hasattr(x, "__array__") or np.isscalar(x)

        if isinstance(actual, dict):
            self.assertIsInstance(desired, dict)
            self.assertEqual(set(actual), set(desired))
            for k in actual:
                again(actual[k], desired[k])
        elif is_sequence(actual) and not hasattr(actual, "__array__"):
            self.assertTrue(is_sequence(desired) and not hasattr(desired, "__array__"))
            self.assertEqual(len(actual), len(desired))
            for a, d in zip(actual, desired, strict=False):
                again(a, d)
        elif arrayish(actual):
            self.assertTrue(arrayish(desired), f"{desired!r} is no array")
            if check_dtypes:
                self.assertDtypesMatch(actual, desired, canonicalize_dtypes=canonicalize_dtypes)
            x, y = self._plain_arrays(actual, desired)
            self.assertArraysAllClose(
                x, y, check_dtypes=False, atol=atol, rtol=rtol, err_msg=err_msg
            )
        elif actual == desired:
            return
        else:
            raise TypeError((type(actual), type(desired)))

    def assertMultiLineStrippedEqual(self, expected, what):
        def lines(text):
            return "\n".join(line.strip() for line in text.strip().split("\n") if line.strip())

        self.assertMultiLineEqual(
            lines(expected), lines(what), msg=f"Found\n{what}\nExpecting\n{expected}"
        )

    def assertEqual(self, first, second, msg=None):
        if not (second == "jax" and first == os.environ.get("HARNESS_TARGET")):
            super().assertEqual(first, second, msg)

    def assertIn(self, member, container, msg=None):
        strings = isinstance(member, str) and isinstance(container, str)
        if not (strings and wording.mentions(container, member)):
            super().assertIn(member, container, msg)

    # -- exceptions

    def assertRaises(self, expected_exception, *args, **kwargs):
        _need_class(expected_exception)
        return super().assertRaises(expected_exception, *args, **kwargs)

    def assertRaisesRegex(self, expected_exception, expected_regex, *args, **kwargs):
        _need_class(expected_exception)
        words = wording.expected(expected_regex)
        return super().assertRaisesRegex(expected_exception, words, *args, **kwargs)

    def assertWarnsRegex(self, expected_warning, expected_regex, *args, **kwargs):
        words = wording.expected(expected_regex)
        return super().assertWarnsRegex(expected_warning, words, *args, **kwargs)

    # -- warnings

    def assertNoWarnings(self):
        return raise_on_warnings()

    def assertDeprecationWarnsOrRaises(
        self, deprecation_id, message, *, check_warns=True, error_class=ValueError
    ):
        return _warns_or_raises(message, check_warns, error_class)

    # -- running functions

    def _CompileAndCheck(
        self,
        fun,
        args_maker,
        *,
        check_dtypes=True,
        tol=None,
        rtol=None,
        atol=None,
        check_cache_misses=True,
    ):
        """fun gives the same results op by op and under jit; jit traces once."""
        atol = tol if atol is None else atol
        rtol = tol if rtol is None else rtol
        tree_map = _t("tree_util.tree_map")
        same = functools.partial(
            self.assertAllClose, check_dtypes=check_dtypes, atol=atol, rtol=rtol
        )
        may_trace = True

        def traced(*args):
            self.assertTrue(may_trace, msg="a second call of the compiled function traced again")
            return fun(*args)

        args = args_maker()
        eager = fun(*args)
        self.assertEqual(
            tree_map(np.shape, eager),
            tree_map(lambda x: np.asarray(x).shape if not _is_key(x) else x.shape, eager),
        )
        compiled = _t("jit")(traced)
        first = compiled(*args)
        may_trace = False
        second = compiled(*args)
        same(eager, first)
        same(eager, second)
        args = args_maker()
        same(fun(*args), compiled(*args))

    def _CheckAgainstNumpy(
        self,
        numpy_reference_op,
        lax_op,
        args_maker,
        check_dtypes=True,
        tol=None,
        atol=None,
        rtol=None,
        canonicalize_dtypes=True,
    ):
        args = args_maker()
        got = lax_op(*args)
        want = numpy_reference_op(*args)
        self.assertAllClose(
            want,
            got,
            check_dtypes=check_dtypes,
            atol=tol if atol is None else atol,
            rtol=tol if rtol is None else rtol,
            canonicalize_dtypes=canonicalize_dtypes,
        )

    def assertCacheMisses(
        self,
        func,
        *,
        cpp=None,
        aot_call=None,
        tracing=None,
        lowering=None,
        compilation_after_persistent_cache_miss=None,
    ):
        """Runs func; checks the count that is to be had in public: lowerings."""
        del cpp, aot_call, tracing, compilation_after_persistent_cache_miss
        if lowering is None:
            return func()
        with count_jit_and_pmap_lowerings() as count:
            result = func()
        self.assertEqual(count(), lowering, "number of lowerings")
        return result


def _need_class(exception):
    """Skips a test that expects an exception of a private class."""
    for e in exception if isinstance(exception, tuple) else (exception,):
        if isinstance(e, jaxshims.Missing):
            e._fail()


class BufferDonationTestCase(JaxTestCase):
    def assertDeleted(self, x):
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x):
        self.assertFalse(x.is_deleted())


def _is_key(x):
    return hasattr(x, "dtype") and not isinstance(num.as_np_dtype(x.dtype), np.dtype)


@contextlib.contextmanager
def _warns_or_raises(message, check_warns, error_class):
    message = wording.expected(message)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            yield
    except error_class as e:
        if not re.search(message, str(e)):
            raise
        return
    hit = [
        w
        for w in seen
        if issubclass(w.category, DeprecationWarning) and re.search(message, str(w.message))
    ]
    if check_warns and not hit:
        raise AssertionError(f"neither a DeprecationWarning nor an error that matches {message!r}")


def with_config(**options):
    """Class decorator: more options for every test of the class."""

    def decorate(cls):
        assert issubclass(cls, JaxTestCase)
        cls._class_options = {**cls._class_options, **options}
        return cls

    return decorate


with_global_config = with_config


@contextlib.contextmanager
def global_config_context(**options):
    with contextlib.ExitStack() as stack:
        for option, value in options.items():
            stack.enter_context(_config.override(option, value, force_global=True))
        yield


@contextlib.contextmanager
def thread_local_config_context(**options):
    with contextlib.ExitStack() as stack:
        for option, value in options.items():
            stack.enter_context(_config.override(option, value))
        yield


def strict_promotion_if_dtypes_match(dtypes):
    """Strict promotion if all dtypes are one and the same, else standard."""
    if all(d == dtypes[0] for d in dtypes):
        return _config.override("jax_numpy_dtype_promotion", "strict")
    return _config.override("jax_numpy_dtype_promotion", "standard")


def promote_like_jnp(fun, inexact=False):
    """Wraps a numpy function: its operands are promoted as jnp would."""
    flatten = _t("tree_util.tree_flatten")
    unflatten = _t("tree_util.tree_unflatten")

    def wrapper(*args, **kw):
        leaves, tree = flatten(args)
        if not leaves:
            return fun(*args, **kw)
        dtype = num.as_np_dtype(_t("numpy.result_type")(*leaves))
        if inexact and num.kind_of(dtype) not in "fc":
            dtype = num.canonical(np.float64)
        leaves = [np.asarray(x).astype(dtype) for x in leaves]
        return fun(*unflatten(tree, leaves), **kw)

    return wrapper


def check_raises(thunk, err_type, msg):
    try:
        thunk()
    except err_type as e:
        assert str(e).startswith(msg), f"\n{e}\nexpected\n{msg}"
    else:
        raise AssertionError(f"{err_type.__name__} not raised")


def check_raises_regexp(thunk, err_type, pattern):
    try:
        thunk()
    except err_type as e:
        assert re.match(pattern, str(e)), f"{e!r} does not match {pattern!r}"
    else:
        raise AssertionError(f"{err_type.__name__} not raised")
