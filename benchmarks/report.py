"""The measurements as a table: a heading per subject, medians of rounds, and reasons for misses."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

MEMORY_SUBJECT = "memory"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def amount(value: float, row: Mapping[str, Any]) -> str:
    if row["subject"] == MEMORY_SUBJECT:
        return f"{value / 1e6:.4g} MB" if value >= 1e5 else f"{value / 1e3:.4g} kB"
    return f"{value:.3g} ×" if row["factor"] else seconds(value)


def ratio(ours: list[Any], theirs: list[Any]) -> tuple[float, float, float]:
    """Ratio of the medians, and the least and greatest ratio of a round."""
    rounds = [_over(a, b) for a, b in zip(ours, theirs, strict=True)]
    return _over(median(ours), median(theirs)), min(rounds), max(rounds)


def _over(ours: float, theirs: float) -> float:
    """The ratio; no bytes are as much as no bytes."""
    return 1.0 if ours == theirs else ours / theirs if theirs else float("inf")


def summarize(
    title: str,
    subject: str,
    target: float | None,
    limit: float | None,
    why: str,
    samples: Mapping[str, list[Any]],
    within: Mapping[str, float],
    factor: bool = False,
) -> dict[str, Any]:
    """One row, of seconds or of factors: `samples` has, for each library, one number per round or
    the text of an error."""
    row: dict[str, Any] = {"title": title, "subject": subject, "target": target, "limit": limit}
    row |= {"why": why, "factor": factor, "samples": dict(samples), "ratios": {}, "met": None}
    errors = {
        library: value
        for library, values in samples.items()
        for value in values
        if isinstance(value, str)
    }
    row["errors"] = errors
    if "effax" not in errors:
        for library, theirs in samples.items():
            if library != "effax" and library not in errors:
                row["ratios"][library] = ratio(samples["effax"], theirs)
    ratios = {"jax": target, **within} if target is not None else dict(within)
    row["within"] = ratios
    held = [row["ratios"][n][0] <= most for n, most in ratios.items() if n in row["ratios"]]
    if limit is not None and "effax" not in errors:
        held.append(median(samples["effax"]) <= limit)
    row["met"] = all(held) if held else None
    return row


def _cells(row: dict[str, Any]) -> list[str]:
    if "effax" in row["errors"]:
        return [
            row["title"],
            f"failed: {row['errors']['effax'].splitlines()[0]}",
            "",
            "",
            "",
            "",
            "",
        ]
    theirs, shown = row["samples"].get("jax", []), ""
    if "jax" in row["errors"]:
        theirs, shown = [], f"failed: {row['errors']['jax'].splitlines()[0][:40]}"
    against = row["ratios"].get("jax")
    peers = ", ".join(f"{n} {r[0]:.2f}" for n, r in row["ratios"].items() if n != "jax")
    return [
        row["title"],
        amount(median(row["samples"]["effax"]), row),
        amount(median(theirs), row) if theirs else shown,
        "{:.2f} ({:.2f} to {:.2f})".format(*against) if against else "",
        _targets(row),
        {True: "met", False: "**missed**", None: ""}[row["met"]],
        peers,
    ]


def _targets(row: dict[str, Any]) -> str:
    """The greatest ratios allowed, to jax unless named, and the greatest time."""
    ratios = [f"≤ {x}" + (f" {n}" if n != "jax" else "") for n, x in row["within"].items()]
    times = [f"≤ {amount(row['limit'], row)}"] if row["limit"] is not None else []
    return ", ".join(ratios + times)


def table(rows: Iterable[dict[str, Any]], headings: Mapping[str, str]) -> str:
    """The rows under the headings of their subjects, then the reason of each miss."""
    rows, lines = list(rows), []
    for subject in dict.fromkeys(row["subject"] for row in rows):
        lines += [f"### {headings[subject].strip().rstrip('.')}", ""]
        mine = [row for row in rows if row["subject"] == subject]
        lines += [*rows_of(mine), ""]
        missed = [row for row in mine if row["met"] is False]
        if missed:
            lines += ["Missed:", ""]
            lines += [f"- {r['title']}: {r['why'] or _spread(r)}" for r in missed] + [""]
    return "\n".join(lines).rstrip() + "\n"


def rows_of(rows: Iterable[dict[str, Any]]) -> list[str]:
    """A table's lines."""
    heading = "| what | effax | jax | ratio (range of rounds) | target | | others |"
    lines = ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return [heading, "|---|--:|--:|--:|--:|---|---|", *lines]


def _spread(row: dict[str, Any]) -> str:
    """Say of a miss that nobody took apart whether some round met the target."""
    ratios = [(row["ratios"][n], most) for n, most in row["within"].items() if n in row["ratios"]]
    if ratios and all(low <= most for (_, low, _), most in ratios):
        return "within what rounds differ by: the best met it"
    return "(not yet profiled)"


def write(text: str, path: Path) -> None:
    """Puts `text` between the marks of the page."""
    page = path.read_text()
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{path} lacks the line {BEGIN} or {END}")
    path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}")
