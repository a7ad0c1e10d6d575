"""Frames: where the user's code stands, noted cheaply; and tracebacks without the library's part.

A place is a pair of a code object and an instruction offset. Taking it costs a walk up the stack;
it becomes text only when someone asks.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

from effax.effects.config import read

Frame: TypeAlias = tuple[CodeType, int]
P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=BaseException)


class Place(NamedTuple):
    """A place in a program text; a line of 0 is unknown."""

    file: str
    line: int
    function: str


def _library_prefixes() -> set[str]:
    # In a checkout the parts of the package are reached through links, and a file has two paths.
    here = os.path.abspath(__file__)
    package = os.path.dirname(os.path.dirname(here))
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    parts = [package] if os.path.basename(package) == "effax" else []
    parts += [os.path.join(root, part) for part in ("effax", "effects", "interpreters", "backends")]
    return {part + os.sep for part in parts}


_prefixes: Final = _library_prefixes()
_glue: Final = {contextlib.__file__, functools.__file__}


class _Inside(dict[str, bool]):
    """Whether a file is the library's, by its path."""

    def __missing__(self, file: str) -> bool:
        inside = file.startswith((*_prefixes, "<frozen ")) or file in _glue
        self[file] = inside
        return inside


_inside: Final = _Inside()


def hide(path: str) -> None:
    """Count the files under a path as the library's: an extension may hide its own frames."""
    _prefixes.add(path)
    _inside.clear()


def is_library(file: str) -> bool:
    """Whether a file is the library's, whose frames are not the user's."""
    return _inside[file]


def user_frame(skipped: int = 1) -> Frame | None:
    """The innermost place of the calling stack outside the library, or None where all is inside.

    The innermost `skipped` frames are not looked at. This function's own is one of them; a caller
    that knows more to be the library's saves 0.1 µs for each.
    """
    frame: FrameType | None = sys._getframe(skipped)
    while frame is not None and _inside[frame.f_code.co_filename]:
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lasti)


def user_frames(limit: int = 10) -> list[Frame]:
    """The places outside the library on the calling stack, innermost first."""
    found: list[Frame] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < limit:
        file = frame.f_code.co_filename
        if not is_library(file):
            found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return found


def place(frame: Frame | None) -> Place | None:
    """File, line and function of a frame as `user_frame` gives it."""
    if frame is None:
        return None
    code, offset = frame
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end and number is not None:
            line = number
            break
    return Place(code.co_filename, line, code.co_qualname)


@functools.lru_cache(maxsize=4096)
def whole_instruction(frame: Frame) -> Frame:
    """The frame at the beginning of what it computes, however Python got there.

    CPython 3.11 moves past the caches of an instruction (`x[i]`, say) once it has specialised it,
    so that one expression is met at two offsets; both have one position in the text.
    """
    code, offset = frame
    positions = list(code.co_positions())
    i = offset // 2
    while 0 < i < len(positions) and positions[i - 1] == positions[i]:
        i -= 1
    return code, 2 * i


def describe(frame: Frame | None) -> str:
    """A frame as text, `path/file.py:12 (function)`; the path is relative below the current one."""
    found = place(frame)
    if found is None:
        return "an unknown place"
    return f"{short_path(found.file)}:{found.line} ({found.function})"


def source_line(frame: Frame | None) -> str:
    """The text of the line at a frame, or "" where there is no source."""
    import linecache

    found = place(frame)
    return "" if found is None else linecache.getline(found.file, found.line)


def evaluated(frame: Frame | None) -> str:
    """The kind of the instruction at a frame, and the text that it computes: `CALL np.sin(x)`.

    It is "" in an installed package, whose code is not for the user to change.
    """
    import dis
    import linecache

    if frame is None:
        return ""
    code, offset = whole_instruction(frame)
    first, last, start, stop = list(code.co_positions())[offset // 2]
    if first is None or "-packages/" in code.co_filename:
        return ""
    line = linecache.getline(code.co_filename, first).encode()
    text = line[start : stop if last == first else None].decode().rstrip()
    return f"{dis.opname[code.co_code[offset]]} {text}"


def short_path(file: str) -> str:
    """A path as messages show it: relative below the current folder."""
    return file.removeprefix(os.getcwd() + os.sep)


class TracedFunction:
    """The function that a handler records, as messages call it and its arguments.

    `transform` is the name of the function of effax that traces it, and `names` gives a name for
    each input of the recording. It is called for messages only. `tracers` are the positions of
    those inputs that another transform traces outside: they can't be static.
    """

    __slots__ = ("function", "names", "tracers", "transform")

    def __init__(
        self,
        function: Callable[..., Any],
        transform: str,
        names: Callable[[], Sequence[str]],
        tracers: Sequence[int] = (),
    ) -> None:
        self.function = function
        self.transform = transform
        self.names = names
        self.tracers = tracers

    def __str__(self) -> str:
        import inspect

        inner = inspect.unwrap(getattr(self.function, "func", self.function))
        name = getattr(inner, "__name__", type(inner).__name__)
        code = getattr(inner, "__code__", None)
        at = "" if code is None else f" at {short_path(code.co_filename)}:{code.co_firstlineno}"
        return f"{name}{at} for {self.transform}"


# --------------------------------------------------------------------------------- tracebacks

_NOTE: Final = (
    "(For simplicity, frames of effax are left out of this traceback; the setting "
    "traceback_filtering='off', or EFFAX_TRACEBACK_FILTERING=off, shows them, and "
    "effax.errors.full_traceback(e) has them)"
)


def filtered(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap an entry point of the library: exceptions pass without the library's frames.

    Entry points nest; the outermost one strips. What it strips stays reachable, see
    `full_traceback`.
    """

    @functools.wraps(function)
    def entry_point(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            result = function(*args, **kwargs)
            settle()
        except Exception as error:
            _forget_deferred()
            strip(error)
            raise
        return result

    _boundaries.add(cast(FunctionType, entry_point).__code__)
    return entry_point


_boundaries: Final[set[CodeType]] = set()
_deferred: Final[list[tuple[int, Callable[[], None]]]] = []


def defer(job: Callable[[], None]) -> None:
    """Do something when the outermost entry point of this thread returns, unless it raises."""
    _deferred.append((threading.get_ident(), job))


def settle() -> None:
    """Run the deferred functions, if the entry point that returns is the outermost one."""
    if _deferred and not _under_boundary(sys._getframe(2)):
        for job in _forget_deferred():
            job()


def _forget_deferred() -> list[Callable[[], None]]:
    thread = threading.get_ident()
    mine = [job for t, job in _deferred if t == thread]
    if mine:
        _deferred[:] = [entry for entry in _deferred if entry[0] != thread]
    return mine


def boundary(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function as one that calls `strip` itself, saving it the wrapper of `filtered`."""
    _boundaries.add(cast(FunctionType, function).__code__)
    return function


def cut_at(namespace: dict[str, Any], home: bool = True) -> None:
    """Make entry points of the public functions in a package's namespace, and where they are from.

    Errors of calls that go through `whole` or another entry point are cut already; these are the
    functions that see their arguments before. Both names are replaced, so that a function is one
    object wherever it is reached; without `home` the library's own calls stay as fast as they are.
    """
    for name, function in list(namespace.items()):
        if (
            type(function) is not FunctionType
            or name.startswith("_")
            or function.__code__ in _boundaries
            or not is_library(function.__code__.co_filename)
            or not function.__module__.startswith("effax.")  # NumPy's functions stay as they are
        ):
            continue
        names = vars(sys.modules[function.__module__])
        named: Any = names.get(function.__name__)
        found = named
        # Otherwise it was wrapped under another name.
        if getattr(found, "__wrapped__", None) is not function:
            found = filtered(function)
            if home:
                for known in (function.__name__, name):  # the second is an alias
                    if names.get(known) is function:
                        names[known] = found
        namespace[name] = found


def _under_boundary(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _boundaries:
            return True
        frame = frame.f_back
    return False


def strip(error: E) -> E:
    """Take the library's frames from an exception's traceback, unless an outer entry point will.

    The `traceback_filtering` setting decides; "remove_frames" also appends the full traceback to
    the exception's notes. The caller re-raises with a bare `raise`.
    """
    mode = read("traceback_filtering")
    traceback = error.__traceback__
    if mode == "off" or traceback is None or _under_boundary(traceback.tb_frame.f_back):
        return error
    if mode == "tracebackhide" or (mode == "auto" and "get_ipython" in vars(builtins)):
        for step in _steps(traceback):
            if _hidden(step):
                step.tb_frame.f_locals["__tracebackhide__"] = True
        return error
    if _keep_users_frames(error) and _note(error) not in getattr(error, "__notes__", ()):
        error.add_note(_full_text(error) if mode == "remove_frames" else _note(error))
    seen: set[int] = set()
    shown, cause = cast(BaseException, error), _shown_cause(error)
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        _keep_users_frames(cause)
        before = _shown_cause(cause)
        if shown.__cause__ is None and cause.__traceback__ is None:
            # The library raised and caught it, as for a miss in a cache: it tells users nothing.
            shown.__context__ = before
        else:
            shown = cause
        cause = before
    return error


def _note(error: BaseException) -> str:
    """The note on what was left out, and where to read about errors of this class."""
    guide = error.guide() if hasattr(error, "guide") else ""
    return f"{_NOTE}\n(Why it is raised, and what to write instead: {guide})" if guide else _NOTE


def _keep_users_frames(error: BaseException) -> bool:
    """Cut an exception's traceback, which `full_traceback` still has; whether it lost frames."""
    traceback = error.__traceback__
    error.__traceback__ = user_part(traceback)
    if all(not _hidden(s) or s.tb_frame.f_code in _boundaries for s in _steps(traceback)):
        return False
    with contextlib.suppress(AttributeError):  # exceptions of C extensions may refuse attributes
        error.effax_traceback = traceback  # type: ignore[attr-defined]
    return True


def _shown_cause(error: BaseException) -> BaseException | None:
    """The exception that Python prints above another."""
    hidden = error.__suppress_context__
    return error.__cause__ or (None if hidden else error.__context__)


def user_part(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the library's frames."""
    shown = None
    for step in reversed(list(_steps(traceback))):
        if not _hidden(step):
            shown = TracebackType(shown, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return shown


def _full_text(error: BaseException) -> str:
    import traceback

    lines = traceback.format_tb(full_traceback(error))
    return "The traceback with the frames of effax:\n" + "".join(lines).rstrip()


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _hidden(step: TracebackType) -> bool:
    return is_library(step.tb_frame.f_code.co_filename)


def full_traceback(error: BaseException) -> Any:
    """Return an exception's traceback with the library's frames, as before `filtered` cut it.

    Args:
      error: the exception.
    """
    return getattr(error, "effax_traceback", error.__traceback__)
