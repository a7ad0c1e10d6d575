"""Reproduce every paper at full size: reports and figures in a folder.

python papers/reproduce.py FOLDER [PAPER ...]      (`make papers` puts them into build/papers)
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from chart import chart

HERE = Path(__file__).parent


def script(paper: str) -> Any:
    """The module `run.py` of a paper, once in a process: it may define effects."""
    path = str(HERE / paper / "run.py")
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path:
            return module
    spec = importlib.util.spec_from_file_location(f"paper_{paper}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def bettencourt_2019_taylor(m: Any, large: bool) -> str:
    """Equations against the order, nested and in Taylor mode."""
    curves = {}
    for name, f in m.FUNCTIONS.items():
        for mode, build in (("nested", m.nested), ("Taylor", m.taylor)):
            curves[f"{mode}: {name}"] = list(zip(m.ORDERS, m.sizes(build, f), strict=True))
    return chart("Higher derivatives (Bettencourt et al. 2019)", "order", "equations", curves)


def stumm_2010_checkpointing(m: Any, large: bool) -> str:
    """Advances against the length, measured online, and their least."""
    slots = (1, 2, 4, 8)
    lengths = range(2, 120 if large else 20, 6)
    curves = {f"{c} slots": [(n, m.formula(n, c) + 1) for n in lengths] for c in slots}
    measured = sorted((n, c, v.total()) for (c, n), v in m.counts().items() if n > 1)
    for c in slots[:3]:
        curves.setdefault(f"measured, {c} slots", [(n, v) for n, k, v in measured if k == c])
    title = "Advances of a checkpointed loop (Stumm & Walther 2010)"
    return chart(title, "steps", "advances", curves)


def griewank_2000_revolve(m: Any, large: bool) -> str:
    """Evaluations of the offline schedule against the length."""
    lengths = (2, 5, 10, 20, 50, 100, 300) if large else (2, 5, 10, 20)
    curves = {f"s = {s}": [(n, m.evaluations(n, s)) for n in lengths] for s in (1, 2, 3, 5, 10)}
    title = "Evaluations with s checkpoints (Griewank & Walther 2000)"
    return chart(title, "length", "evaluations", curves, (True, True))


def xie_2020_evidence(m: Any, large: bool) -> str:
    """Nanoseconds of an effect against the depth of the stack."""
    number = 20_000 if large else 500
    found = {
        "handlers inside walk": m.measured(m.walked, False, m.Counter, number),
        "handlers outside": m.measured(m.walked, True, m.Counter, number),
        "by evidence": m.measured(m.by_evidence, False, m.Counter, number),
    }
    curves = {name: list(zip(m.DEPTHS, times, strict=True)) for name, (_, times) in found.items()}
    title = "What a stack of handlers costs (Xie et al. 2020)"
    return chart(title, "depth", "ns", curves, (True, True))


FIGURES: tuple[Callable[[Any, bool], str], ...] = (
    bettencourt_2019_taylor,
    stumm_2010_checkpointing,
    griewank_2000_revolve,
    xie_2020_evidence,
)


def report(paper: str, folder: Path) -> bool:
    """Run a paper's script at full size and keep what it prints; whether its claims hold."""
    command = [sys.executable, str(HERE / paper / "run.py"), "--large"]
    done = subprocess.run(command, capture_output=True, text=True)
    text = done.stdout + done.stderr
    (folder / f"{paper}.txt").write_text(text, encoding="utf-8")
    print(f"== {paper}\n{text}", flush=True)
    return done.returncode == 0


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/papers")
    folder.mkdir(parents=True, exist_ok=True)
    papers = sys.argv[2:] or sorted(p.parent.name for p in HERE.glob("*/run.py"))
    failed = [paper for paper in papers if not report(paper, folder)]
    for figure in FIGURES:
        if figure.__name__ in papers:
            picture = figure(script(figure.__name__), True)
            (folder / f"{figure.__name__}.svg").write_text(picture, encoding="utf-8")
    print(f"{len(papers) - len(failed)} of {len(papers)} as their pages say; in {folder}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
