"""Functions of vectors and scalars, made functions of arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any

from effax.effects.frames import filtered
from effax.effects.types import typeof
from effax.effects.value import Array, ArrayLike
from effax.numpy.manipulation import broadcast_shapes, expand_dims, squeeze
from effax.operands.arguments import canonical_axis, check_arrays
from effax.operands.promoting import array, asarray


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any
) -> Array:
    """Apply a function of a vector to each vector along an axis of an array.

    The axes of its result take the place of that axis.

    Args:
      func1d: a function of a vector; it is called once, under `vmap`.
      axis: the axis of the vectors; negative ones count from the end.
      arr: array_like, of at least one axis.
      *args, **kwargs: further arguments of `func1d`, the same for each vector.

    >>> import effax.numpy as jnp
    >>> jnp.apply_along_axis(jnp.sum, 1, jnp.arange(6).reshape(2, 3))
    Array([ 3, 12], dtype=int32)
    """
    from effax.api.mapping.vmap import vmap

    check_arrays("apply_along_axis", arr)
    arr = array(arr)
    ndim = typeof(arr).ndim
    axis = canonical_axis(axis, ndim)

    def function(x: Any) -> Any:
        return func1d(x, *args, **kwargs)

    # First the axes after `axis`, from the last on, which go to the end; then those before it.
    for i in range(1, ndim - axis):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


def apply_over_axes(
    func: Callable[[ArrayLike, int], Array], a: ArrayLike, axes: Sequence[int] | int
) -> Array:
    """Apply a function of an array and an axis for each of some axes in turn.

    Args:
      func: a function of (array, axis) that keeps the rank of the array, or removes the axis, which
        is then put back with length 1.
      a: array_like.
      axes: the axis or axes, in order; negative ones count from the end.

    Raises:
      ValueError: for a function that does neither.

    >>> import effax.numpy as jnp
    >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3, 4)), [0, 2])
    Array([[[8.],
            [8.],
            [8.]]], dtype=float32)
    """
    check_arrays("apply_over_axes", a)
    x = array(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        at = canonical_axis(axis, typeof(x).ndim)
        ndim = typeof(x).ndim
        result = func(x, at)
        if typeof(result).ndim == ndim - 1:
            result = expand_dims(result, at)
        if typeof(result).ndim != ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = result
    return x


_NAMES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"^{_NAMES}(?:,{_NAMES})*->{_NAMES}(?:,{_NAMES})*$")

Core = tuple[str, ...]


def parse_signature(signature: str) -> tuple[list[Core], list[Core]]:
    """The names of core axes of arguments and results, from `"(m,n),(n)->(m)"`.

    Raises `ValueError` for a text of another form.
    """
    if not _SIGNATURE.match(signature.replace(" ", "")):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    ins, outs = (
        [tuple(re.findall(r"\w+", group)) for group in re.findall(_NAMES, side)]
        for side in signature.replace(" ", "").split("->")
    )
    return ins, outs


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Collection[int | str] = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Return a function of arrays, which are broadcast against each other, made of `pyfunc`.

    Args:
      pyfunc: a function of scalars, or of arrays with the core axes in the signature.
      excluded: positions and names of arguments to be passed as they are.
      signature: core axes, as `"(m,n),(n)->(m)"`.

    Raises:
      TypeError: for `excluded` that are neither integers nor strings, and for another number of
        arguments than in the signature.
      ValueError: where shapes don't fit the signature.

    >>> import effax.numpy as jnp
    >>> matvec = jnp.vectorize(jnp.dot, signature="(m,n),(n)->(m)")
    >>> matvec(jnp.ones((5, 2, 3)), jnp.ones(3)).shape
    (5, 2)
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(
            f"jnp.vectorize can only exclude integer or string arguments, but excluded={excluded!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")
    cores = None if signature is None else parse_signature(signature)

    @wraps(pyfunc)
    @filtered
    def vectorized(*args: Any, **keywords: Any) -> Any:
        fixed_keywords = {k: v for k, v in keywords.items() if k in excluded}
        names = [k for k in keywords if k not in excluded]
        given = [*args, *(keywords[k] for k in names)]
        mapped = [
            i
            for i, x in enumerate(given)
            if not (i < len(args) and i in excluded) and x is not None
        ]

        def function(*values: Any) -> Any:
            filled = list(given)
            for i, value in zip(mapped, values, strict=True):
                filled[i] = value
            n = len(args)
            return pyfunc(
                *filled[:n], **dict(zip(names, filled[n:], strict=True)), **fixed_keywords
            )

        values = [array(asarray(given[i], "vectorize")) for i in mapped]
        return _mapped(function, values, _input_cores(cores, given, mapped, excluded), cores)

    return vectorized


def _input_cores(
    cores: Any, given: Sequence[Any], mapped: Sequence[int], excluded: Collection[int | str]
) -> list[Core]:
    """The core axes of each argument that is mapped."""
    if cores is None:
        return [()] * len(mapped)
    positions = [i for i in range(len(given)) if i not in excluded]
    if len(positions) != len(cores[0]):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(cores[0])}, got {len(positions)}"
        )
    of = dict(zip(positions, cores[0], strict=True))
    missing = [i for i in positions if given[i] is None]
    if any(of[i] for i in missing):
        raise ValueError(f"Cannot pass None at locations {set(missing)} with a signature")
    return [of[i] for i in mapped]


def _mapped(function: Callable[..., Any], values: list[Any], inputs: list[Core], cores: Any) -> Any:
    """The function mapped over all but the core axes; axes of length 1 are not mapped."""
    from effax.api.mapping.vmap import vmap

    lengths: dict[str, int] = {}
    for x, core in zip(values, inputs, strict=True):
        try:
            learn_lengths(lengths, typeof(x).shape, core, exactly=False)
        except ValueError as error:
            shapes = ", ".join(str(typeof(v).shape) for v in values)
            raise ValueError(
                f"vectorize: {error}, in arguments of shapes {shapes}, whose last axes are {inputs}"
            ) from None
    outers = [
        typeof(x).shape[: typeof(x).ndim - len(c)] for x, c in zip(values, inputs, strict=True)
    ]
    common = broadcast_shapes(*outers) if outers else ()
    checked = function if cores is None else checked_results(function, lengths, cores[1])
    padded = [(1,) * (len(common) - len(o)) + o for o in outers]
    squeezed = [
        squeeze(x, tuple(i for i, n in enumerate(o) if n == 1))
        for x, o in zip(values, outers, strict=True)
    ]
    unmapped = []
    for axis in reversed(range(len(common))):
        in_axes = tuple(None if o[axis] == 1 else 0 for o in padded)
        if all(a is None for a in in_axes):
            unmapped.append(axis)
        else:
            checked = vmap(checked, in_axes=in_axes)
    result = checked(*squeezed)
    if not unmapped:
        return result
    if isinstance(result, tuple):
        return tuple(expand_dims(r, tuple(sorted(unmapped))) for r in result)
    return expand_dims(result, tuple(sorted(unmapped)))


def learn_lengths(
    lengths: dict[str, int], shape: tuple[int, ...], core: Core, exactly: bool
) -> None:
    """Note the lengths of core axes; raise `ValueError` where they are others than known."""
    if exactly and len(shape) != len(core):
        raise ValueError(f"output shape {shape} does not match core dimensions {core}")
    if len(shape) < len(core):
        raise ValueError(
            f"input with shape {shape} does not have enough dimensions for all core dimensions "
            f"{core}"
        )
    for name, n in zip(core, shape[len(shape) - len(core) :], strict=True):
        known = lengths.setdefault(name, n)
        if known != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {known}")


def checked_results(
    function: Callable[..., Any], lengths: dict[str, int], outputs: list[Core]
) -> Callable[..., Any]:
    """The function, its results compared with the signature."""

    def checked(*values: Any) -> Any:
        result = function(*values)
        if len(outputs) > 1 and not isinstance(result, tuple):
            raise TypeError(
                f"output must be a tuple when multiple outputs are expected, got: {result}"
            )
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(outputs):
            raise TypeError(
                f"wrong number of output arguments: expected {len(outputs)}, got {len(results)}"
            )
        known = dict(lengths)
        for x, core in zip(results, outputs, strict=True):
            # A pytree that has a shape is as good as an array.
            lengths_of_x = x.shape if hasattr(x, "shape") else typeof(x).shape
            learn_lengths(known, lengths_of_x, core, exactly=True)
        return result

    return checked
