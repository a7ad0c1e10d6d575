"""effax's programs for a chip against JAX's: how many compile, and what they cost."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import attrs

from tests.accelerators.reasons import REASONS
from tests.accelerators.worker import CHIPS, COMPILED, REFUSED, Result

RECORDED = Path(__file__).parents[1] / "goldens" / "accelerators.json"
BAR = 1.02
FIGURES = {"flops": 4096, "bytes": 32768, "temporaries": 1 << 18}
"""The figures that are compared, and the difference that counts as none: TPUs pad to tiles."""

_TOLD = 8
"""The number of programs that the page names for a reason, the worst first; the command prints all."""

Key = tuple[str, str, str, str]


@attrs.frozen
class Excess:
    """A figure above the bar."""

    result: Result
    figure: str
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / max(self.theirs, 1)

    @property
    def reason(self) -> str:
        """The recorded reason, or ""."""
        x = self.result
        text = f"{x.family} | {x.chip} | {x.which} | {x.name} | {self.figure}"
        return next((why for pattern, why in REASONS if re.search(pattern, text)), "")


def rival(python: str, config: str, families: Sequence[str]) -> Iterator[Result]:
    """The results of JAX, in a process of a Python that has it."""
    command = [python, "-m", "tests.accelerators.worker", "jax", "--config", config]
    if families:
        command += ["--families", *families]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield Result(*json.loads(line))
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ended with {process.returncode}")


def record(found: Iterable[Result]) -> None:
    """Write JAX's results down, beside those of other programs."""
    known = recorded() | {x.key: x for x in found}
    lines = [json.dumps(attrs.astuple(attrs.evolve(x, seconds=0))) for x in known.values()]
    RECORDED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def recorded() -> dict[Key, Result]:
    """The results of JAX that are written down."""
    if not RECORDED.exists():
        return {}
    lines = json.loads(RECORDED.read_text(encoding="utf-8"))
    return {x.key: x for x in (Result(*line) for line in lines)}


def excesses(ours: Iterable[Result], theirs: dict[Key, Result]) -> list[Excess]:
    """The figures that are more than `BAR` of JAX's, the worst first."""
    found = []
    for x in ours:
        y = theirs.get(x.key)
        if y is None or x.word != COMPILED or y.word != COMPILED:
            continue
        for figure, slack in FIGURES.items():
            mine, other = getattr(x, figure), max(getattr(y, figure), 0)
            if mine > BAR * other + slack:
                found.append(Excess(x, figure, mine, other))
    return sorted(found, key=lambda e: -e.ratio)


def behind(ours: Iterable[Result], theirs: dict[Key, Result]) -> list[Result]:
    """The programs that JAX compiles, and effax does not."""
    return [
        x for x in ours if x.word != COMPILED and x.key in theirs and theirs[x.key].word == COMPILED
    ]


def rows(ours: Sequence[Result], theirs: dict[Key, Result]) -> list[str]:
    """The table: families and chips, the numbers of both, and medians and worst of the ratios."""
    lines = [
        "| family | chip | programs | lower | compile | flops | bytes | temporaries |",
        "|---" * 8 + "|",
    ]
    grouped: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for x in ours:
        grouped[x.family, x.chip].append(x)
    for (family, chip), every in grouped.items():
        asked = [theirs[x.key] for x in every if x.key in theirs]
        lower, compiled = (
            f"{_count(every, words)} ({_count(asked, words)})"
            for words in ((REFUSED,), (REFUSED, "failed"))
        )
        cells = [_ratios(every, theirs, figure) for figure in FIGURES]
        lines.append(
            f"| {family} | {chip} | {len(every)} | {lower} | {compiled} | {' | '.join(cells)} |"
        )
    return lines


def _count(every: Sequence[Result], without: tuple[str, ...]) -> int:
    return sum(x.word not in without for x in every)


def _ratios(every: Sequence[Result], theirs: dict[Key, Result], figure: str) -> str:
    """The median and the worst of the ratios; a difference within the slack counts as none."""
    found = []
    for x in every:
        y = theirs.get(x.key)
        if y is None or x.word != COMPILED or y.word != COMPILED:
            continue
        mine, other = max(getattr(x, figure), 0), max(getattr(y, figure), 0)
        near = abs(mine - other) <= FIGURES[figure]
        found.append(1.0 if near else mine / max(other, 1))
    if not found:
        return ""
    worst = max(found)
    return (
        f"{statistics.median(found):.2f}, {worst:.2f}"
        if worst < 100
        else (f"{statistics.median(found):.2f}, over 100")
    )


def reasons(found: Sequence[Excess]) -> list[str]:
    """The programs above the bar by their reason."""
    grouped: dict[str, list[Excess]] = defaultdict(list)
    for x in found:
        grouped[x.reason].append(x)
    lines = ["| reason | programs |", "|---|---|"]
    for reason, every in sorted(grouped.items()):
        told: dict[str, str] = {}
        for x in every:
            name = x.result.name.rsplit(" | ", 1)[0].replace("|", "\\|")
            gradient = ", gradient" if x.result.which == "gradient" else ""
            text = f"`{name}`{gradient} on {x.result.chip}"
            told[text] = ", ".join(filter(None, [told.get(text), f"{x.figure} {_times(x)}"]))
        worst = [f"{text}: {figures}" for text, figures in told.items()][:_TOLD]
        rest = [f"and {len(told) - _TOLD} others"] if len(told) > _TOLD else []
        each = "; ".join([*worst, *rest])
        lines.append(f"| {reason or 'none yet'} | {each} |")
    return lines


def _times(x: Excess) -> str:
    return f"{x.ratio:.2f}" if x.theirs >= FIGURES[x.figure] else f"{x.ours:.0f} to {x.theirs:.0f}"


__all__ = ["CHIPS", "behind", "excesses", "reasons", "record", "recorded", "rival", "rows"]
