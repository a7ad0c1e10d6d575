"""A terminal session at a breakpoint of a running program; `debug.breakpoint` opens it."""

from __future__ import annotations

import bdb
import cmd
import code
import inspect
import linecache
import pprint
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType
from typing import IO, Any, Final

import attrs

from effax.backends.xla.array import Array
from effax.effects.frames import is_library
from effax.effects.handler import Carrier
from effax.effects.tree import tree_flatten, tree_unflatten

__all__ = [
    "Breakpoint",
    "Level",
    "Session",
    "levels",
]
__dir__ = __all__.copy

_AROUND: Final = 5
_LISTED: Final = 11
_VALUE: Final = "__jdb_value__"


@attrs.frozen(slots=True, eq=False)
class Level:
    """A user's frame as it was when the program was staged; variables come when it runs."""

    file: str
    line: int
    function: str
    globals: dict[str, Any]
    first: int = 1
    """The line on which the function begins."""

    def __str__(self) -> str:
        return f"{self.file}({self.line}) {self.function}"

    def source(self, first: int, count: int) -> list[str]:
        """Lines of the file, numbered, the current one marked."""
        lines = linecache.getlines(self.file)
        return [
            f"{'->' if n == self.line else '  '} {n:4d}  {lines[n - 1].rstrip()}"
            for n in range(max(first, 1), min(first + count, len(lines) + 1))
        ]

    def context(self, around: int) -> str:
        """The place, and the function's lines around the current one, which is marked.

        The line after the function's last one is shown too: it tells that the function ends.
        """
        lines = linecache.getlines(self.file)
        begin, end = max(self.line - around - 1, self.first), min(self.line + around, len(lines))
        if self.function != "<module>":
            block = inspect.getblock(lines[self.first - 1 :])
            end = min(end, max(self.first + len(block), self.line))
        shown = range(begin, end + 1)
        marked = [f"{'->' if n == self.line else '  '}  {lines[n - 1].rstrip()}" for n in shown]
        return "\n".join([f"> {self.file}({self.line})", *marked])


def levels(
    frame: FrameType | None, only_users: bool, limit: int | None
) -> tuple[list[Level], list[dict[str, Any]]]:
    """Return the frames from one outwards, innermost first, and the variables of each.

    Args:
      frame: the innermost frame.
      only_users: whether the library's own frames are left out.
      limit: the largest number of frames; None for all.
    """
    found: list[Level] = []
    variables: list[dict[str, Any]] = []
    while frame is not None and (limit is None or len(found) < limit):
        text = frame.f_code
        if not (only_users and is_library(text.co_filename)):
            place = text.co_filename, frame.f_lineno, text.co_name
            found.append(Level(*place, frame.f_globals, text.co_firstlineno))
            variables.append({} if frame.f_locals is frame.f_globals else dict(frame.f_locals))
        frame = frame.f_back
    return found, variables


class Breakpoint:
    """The callback of a breakpoint: it is given the values, and opens a session.

    Of the frames' variables, those that hold arrays or traced values are passed by the program;
    all others are as they were when it was staged.
    """

    __slots__ = ("levels", "parts", "rest", "stdin", "stdout")

    def __init__(
        self, levels: Sequence[Level], stdin: IO[str] | None, stdout: IO[str] | None
    ) -> None:
        self.levels = levels
        self.stdin = stdin
        self.stdout = stdout
        self.parts: list[list[tuple[str, Any, list[Any]]]] = []

    def split(self, variables: Iterable[dict[str, Any]]) -> list[Any]:
        """Keep the variables, but for the arrays in them, which are returned."""
        operands: list[Any] = []
        known: dict[int, _Slot] = {}

        def slot(x: Any) -> Any:
            if isinstance(x, Carrier) and not x.handler.live:
                return _Ended(repr(x))
            if not isinstance(x, Array | Carrier):
                return x
            if id(x) not in known:
                known[id(x)] = _Slot(len(operands))
                operands.append(x)
            return known[id(x)]

        for of_frame in variables:
            part = []
            for name, value in of_frame.items():
                leaves, tree = _flat(value)
                part.append((name, tree, [slot(x) for x in leaves]))
            self.parts.append(part)
        return operands

    def __call__(self, *operands: Any) -> None:
        """Open a session with these arrays in the variables."""
        variables = [
            {
                name: tree_unflatten(
                    tree, [operands[x.index] if isinstance(x, _Slot) else x for x in leaves]
                )
                for name, tree, leaves in part
            }
            for part in self.parts
        ]
        Session(self.levels, variables, self.stdin, self.stdout).cmdloop()

    def __str__(self) -> str:
        return "breakpoint"


def _flat(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a variable, and its tree; what is no tree is one leaf."""
    try:
        leaves, tree = tree_flatten(value, is_leaf=lambda x: isinstance(x, Iterator))
    except (TypeError, ValueError):  # for example a dict whose keys have no order
        return tree_flatten(value, is_leaf=lambda x: True)
    return list(leaves), tree


@attrs.frozen(slots=True)
class _Slot:
    """The place in a variable of an array that the program passes."""

    index: int


@attrs.frozen(slots=True)
class _Ended:
    """A traced value that had outlived its transform already when the program was staged."""

    text: str

    def __repr__(self) -> str:
        return f"<escaped: {self.text}>"


class _Runner(code.InteractiveInterpreter):
    """Runs a line; what it raises becomes a line of output."""

    nothing: Final = object()

    def __init__(self, names: dict[str, Any], say: Callable[[str], None]) -> None:
        super().__init__(names)
        self.names = names
        self.say = say

    def evaluate(self, line: str) -> Any:
        """The value of an expression; `nothing` for a statement, or where it failed."""
        try:
            found = compile(f"{_VALUE} = (\n{line}\n)", "<jdb>", "exec")
        except SyntaxError:
            self.runsource(line, "<jdb>", "exec")
            return self.nothing
        self.runcode(found)
        return self.names.pop(_VALUE, self.nothing)

    def showtraceback(self) -> None:
        """Say what was raised, in a line."""
        self.say("*** " + traceback.format_exception_only(sys.exc_info()[1])[-1].strip())

    def showsyntaxerror(self, filename: str | None = None, **keywords: Any) -> None:
        """The same for what is no Python."""
        self.showtraceback()


class Session(cmd.Cmd):
    """Commands, as of pdb, on the frames of a breakpoint."""

    prompt = "(jdb) "

    def __init__(
        self,
        levels: Sequence[Level],
        variables: Sequence[dict[str, Any]],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
    ) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None and self.stdout is sys.stdout
        self.levels = levels
        self.variables = [dict(v) for v in variables]
        self.at = 0
        self.next_line: int | None = None

    def cmdloop(self, intro: Any = None) -> None:
        """Read commands until one goes on."""
        super().cmdloop("Entering jdb:")

    def say(self, text: str) -> None:
        """Write a line."""
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def default(self, line: str) -> None:
        """Evaluate, or execute, input that is no command, as pdb does."""
        self._run(line.removeprefix("!").strip(), self._show)

    def do_EOF(self, line: str) -> bool:  # noqa: N802  (cmd's name)
        """The end of the input: end the process, as nobody is there to say how to go on."""
        raise SystemExit(0)

    def _run(self, line: str, show: Any) -> None:
        if not line:
            self.say("*** give an expression")
            return
        if not self.levels:
            self.say("*** no frames: the breakpoint has num_frames=0")
            return
        scope, names = self.levels[self.at].globals, self.variables[self.at]
        # Comprehensions and lambdas see only globals, so locals are passed as globals.
        together = {**scope, **names}
        runner = _Runner(together, self.say)
        value = runner.evaluate(line)
        if value is not _Runner.nothing:
            show(value)
        else:
            changed = {k: v for k, v in together.items() if scope.get(k, self) is not v}
            names.update({k: v for k, v in changed.items() if not k.startswith("__")})

    def _show(self, value: Any) -> None:
        if value is not None:
            self.say(repr(value))

    def do_p(self, line: str) -> None:
        """p expression: print its value."""
        self._run(line, lambda value: self.say(repr(value)))

    def do_pp(self, line: str) -> None:
        """pp expression: pretty-print its value."""
        self._run(line, lambda value: self.say(pprint.pformat(value)))

    def do_list(self, line: str) -> None:
        """l(ist) [first [, last]]: show the source around the current line, or more of it."""
        if not self.levels:
            return
        level = self.levels[self.at]
        try:
            numbers = [int(x) for x in line.replace(",", " ").split()]
        except ValueError:
            self.say(f"*** list takes numbers of lines, not {line!r}")
            return
        if not numbers and self.next_line is None:
            self.next_line = level.line + _AROUND + 1
            self.say(level.context(_AROUND))
            return
        first = numbers[0] if numbers else self.next_line or level.line
        last = numbers[1] if len(numbers) > 1 else max(first, 1) + _LISTED - 1
        shown = level.source(first, last - max(first, 1) + 1)
        self.next_line = last + 1
        self.say("\n".join(shown) if shown else "[EOF]")

    def do_args(self, line: str) -> None:
        """a(rgs): print the variables of the current frame."""
        for name, value in self.variables[self.at].items() if self.levels else ():
            self.say(f"{name} = {value!r}")

    def do_up(self, line: str) -> None:
        """u(p): go to the caller's frame."""
        self._go(self.at + 1, "topmost")

    def do_down(self, line: str) -> None:
        """d(own): go to the frame that this one called."""
        self._go(self.at - 1, "bottommost")

    def _go(self, at: int, end: str) -> None:
        if not 0 <= at < len(self.levels):
            self.say(f"At {end} frame.")
        else:
            self.at, self.next_line = at, None
        if self.levels:
            self.say(self.levels[self.at].context(2))

    def do_where(self, line: str) -> None:
        """bt, w(here): print the frames, the current one marked; the newest is the last."""
        for i, level in reversed(list(enumerate(self.levels))):
            text = linecache.getline(level.file, level.line).strip()
            self.say(f"{'>' if i == self.at else ' '} {level}")
            if text:
                self.say(f"    {text}")

    def do_continue(self, line: str) -> bool:
        """c(ont(inue)): let the program go on."""
        return True

    def do_quit(self, line: str) -> bool:
        """q(uit): end the program; whoever waits for it gets an error."""
        raise bdb.BdbQuit("the program was ended by `quit` at a breakpoint")

    def do_help(self, arg: str) -> None:
        """h(elp) [command]: say what the commands are."""
        if arg:
            super().do_help(arg)
            return
        for name in ("p", "pp", "list", "args", "up", "down", "where", "continue", "quit", "help"):
            self.say(str(getattr(self, f"do_{name}").__doc__))
        self.say("Anything else is evaluated, with the frame's variables.")

    do_l, do_a, do_u, do_d, do_bt, do_w = do_list, do_args, do_up, do_down, do_where, do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_quit
    do_h = do_help
