"""jax._src.util: small helpers on sequences, written anew."""

from __future__ import annotations

import functools
import itertools as it
import math

import numpy as np

prod = math.prod


def safe_map(f, *args):
    args = [list(a) for a in args]
    n = len(args[0])
    for a in args[1:]:
        assert len(a) == n, f"lengths differ: {[len(a) for a in args]}"
    return [f(*xs) for xs in zip(*args, strict=False)]


def safe_zip(*args):
    args = [list(a) for a in args]
    n = len(args[0]) if args else 0
    for a in args[1:]:
        assert len(a) == n, f"lengths differ: {[len(a) for a in args]}"
    return list(zip(*args, strict=False))


def foreach(f, *args):
    for xs in safe_zip(*args):
        f(*xs)


def unzip2(pairs):
    pairs = list(pairs)
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def unzip3(triples):
    triples = list(triples)
    return (
        tuple(a for a, _, _ in triples),
        tuple(b for _, b, _ in triples),
        tuple(c for _, _, c in triples),
    )


def concatenate(xs):
    return list(it.chain.from_iterable(xs))


flatten = concatenate


def split_list(args, ns):
    args, out = list(args), []
    for n in ns:
        out.append(args[:n])
        args = args[n:]
    return out + [args]


def partition_list(bs, xs):
    out = [], []
    for b, x in safe_zip(bs, xs):
        out[bool(b)].append(x)
    return out


def merge_lists(bs, l0, l1):
    i0, i1 = iter(l0), iter(l1)
    out = [next(i1 if b else i0) for b in bs]
    assert next(i0, None) is None and next(i1, None) is None
    return out


def subvals(lst, replace):
    lst = list(lst)
    for i, v in replace:
        lst[i] = v
    return tuple(lst)


def curry(f):
    return functools.wraps(f)(functools.partial(functools.partial, f))


def tuple_insert(t, idx, val):
    return tuple(t[:idx]) + (val,) + tuple(t[idx:])


def tuple_delete(t, idx):
    return tuple(t[:idx]) + tuple(t[idx + 1 :])


def tuple_update(t, idx, val):
    assert 0 <= idx < len(t), (idx, len(t))
    return tuple(t[:idx]) + (val,) + tuple(t[idx + 1 :])


def canonicalize_axis(axis, num_dims):
    if not -num_dims <= axis < num_dims:
        raise ValueError(f"axis {axis} is out of bounds for {num_dims} dimensions")
    return axis % num_dims


def ceil_of_ratio(x, y):
    return -(-x // y)


def cache(max_size=4096, **_):
    return functools.lru_cache(max_size)


def wraps(wrapped, namestr="{fun}", docstr=None, **_):
    return functools.wraps(wrapped)


def clear_all_caches():
    import jaxshims

    jaxshims.target_attr("clear_caches")()


def unique_list(xs):
    return list(dict.fromkeys(xs))


del np
