"""The table of transformations and the laws they keep, for documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from effax.laws.check import Verdict, judge
from effax.laws.law import Law
from effax.laws.transform import laws_of

BEGIN: Final = "<!-- laws: written by python -m effax.laws -->"
END: Final = "<!-- end of laws -->"


@attrs.frozen
class Asked:
    """A transformation, and how it is asked about the laws of transformations.

    `embed` and `project` are those of `check`. `apart` says of some laws, by name, why they are not
    asked: what holds instead. `max_examples` is how many programs are drawn at most, where more
    would take too long. `interpreter`, `sound`, `around`, `oracle`, `steps` and `more` are those of
    `check`.
    """

    transform: Callable[..., Any]
    embed: Callable[..., tuple[Any, ...]] | None = None
    project: Callable[[Any], Any] | None = None
    apart: Mapping[str, str] = attrs.field(factory=dict)
    max_examples: int | None = None
    interpreter: Any = None
    sound: Callable[[Any, Any], Any] | None = None
    around: Callable[..., Any] | None = None
    oracle: Callable[..., Any] | None = None
    steps: Sequence[Callable[..., Any]] = ()
    more: Sequence[Law] = ()

    def described(self) -> dict[str, Any]:
        """Return what is known of the transform's data, as keywords of `check`."""
        names = ("embed", "project", "interpreter", "sound", "around", "oracle", "steps", "more")
        return {name: getattr(self, name) for name in names}

    def verdicts(self, max_examples: int = 5, backend: str = "reference") -> dict[str, Verdict]:
        """Return the verdict on each law by name; laws that stand apart are not asked."""
        max_examples = min(max_examples, self.max_examples or max_examples)
        stated = laws_of(self.transform, self.embed, self.project, self.oracle)
        unknown = set(self.apart) - {law.name for law in stated}
        if unknown:
            raise ValueError(f"there are no laws named {sorted(unknown)}")
        return {
            law.name: judge(law, max_examples=max_examples, backend=backend)
            for law in stated
            if law.name not in self.apart
        }


def markdown(asked: Mapping[str, Asked], max_examples: int = 5) -> str:
    """Return the table of laws by transformations, with notes to the cells that need one.

    A cell is "true", "false", "undefined" (all programs were refused; the note has the refusal) or
    "–" (not asked; the note says why). "true" with a note: some programs were refused, of which the
    note has one.

    Args:
      asked: the transformations, by name.
      max_examples: the number of programs that each law is asked about.

    >>> from effax import laws
    >>> print(markdown({"nothing": Asked(lambda f: f)}, max_examples=1).splitlines()[2])
    | `T f = f` | true |
    """
    found = {name: one.verdicts(max_examples) for name, one in asked.items()}
    laws = [law.name for law in laws_of(lambda f: f)]
    notes: dict[str, int] = {}
    rows = ["| law | " + " | ".join(asked) + " |", "|---" * (len(asked) + 1) + "|"]
    for law in laws:
        cells = [_cell(asked[n].apart.get(law), found[n].get(law), notes) for n in asked]
        rows.append(f"| `{law}` | " + " | ".join(cells) + " |")
    rows += ["", *(f"{i}. {text}" for text, i in notes.items())]
    return "\n".join(rows).rstrip()


def _cell(apart: str | None, verdict: Verdict | None, notes: dict[str, int]) -> str:
    def note(text: str) -> str:
        return f" [{notes.setdefault(' '.join(text.split()), len(notes) + 1)}]"

    if apart is not None or verdict is None:
        return "–" + note(apart or "not asked")
    if verdict.verdict == "true":
        return "true" + (note(verdict.detail) if verdict.refused else "")
    return f"**{verdict.verdict}**" + note(verdict.detail)


def write_into(page: Path, table: str) -> None:
    """Put a table between the two marks of a page.

    Raises `ValueError` where the page has no such marks.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {BEGIN!r} and {END!r} to write between")
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
