"""The recipe of CONTRIBUTING.md: an effect on elements is four short entries, and goes everywhere."""

import os
import shutil
import subprocess
import sys

from tests.architecture.sources import ROOT

ENTRIES = {
    "effects/rows/transcendental.py": '''
softsign = unary("softsign", FAMILY, INEXACT)
"""`x / (1 + |x|)`."""
''',
    "backends/xla/lowering/transcendental.py": """

@rule(transcendental.softsign)
def lower_softsign(w, types, x):
    size = w.simple("add", [w.constant(1, types[0]), w.simple("abs", [x], types[0])], types[0])
    return w.simple("divide", [x, size], types[0])
""",
    "backends/reference/transcendental.py": """
rule(transcendental.softsign)(wide(lambda x: x / (1 + np.abs(x))))
""",
}
DERIVATIVE = "    transcendental.softsign: (lambda ans, x: square(sub(1.0, abs(ans))),),\n"
BESIDE = "    tanh: (lambda ans, x:"
PROGRAM = """
import effax, effax.matrix, effax.numpy as jnp, numpy as np
from effax.backends.reference.evaluate import interpret
from effax.effects.rows.transcendental import softsign
from effax.experimental import checkify

assert not effax.matrix.holes()
x = np.linspace(-3.0, 3.0, 8, dtype=np.float32)
right, slope = x / (1 + abs(x)), 1 / (1 + abs(x)) ** 2

def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)

same(softsign(x), right)
same(effax.jit(softsign)(x), right)
same(effax.vmap(softsign)(x), right)
same(effax.vmap(effax.grad(softsign))(x), slope)
same(effax.vmap(effax.grad(effax.grad(softsign)))(x), -2 * np.sign(x) / (1 + abs(x)) ** 3)
same(interpret(softsign)(x), right)
error, found = checkify.checkify(softsign, errors=checkify.float_checks)(x)
same(found, right)
assert error.get() is None
error, _ = checkify.checkify(softsign, errors=checkify.float_checks)(np.float32(np.nan))
assert "softsign" in error.get()
print("everywhere")
"""


def test_four_entries_make_an_effect_on_elements(tmp_path):
    for folder in ("effects", "interpreters", "backends", "effax"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for path, entry in ENTRIES.items():
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write(entry)
    table = tmp_path / "interpreters" / "composites" / "calculus.py"
    text = table.read_text(encoding="utf-8")
    assert text.count(BESIDE) == 1
    table.write_text(text.replace(BESIDE, DERIVATIVE + BESIDE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "everywhere\n"
