"""Asking laws about cases that were drawn once: those that `laws.check` asks at its default.

`check` draws its cases without chance, so a wrong rule is asked the cases that the right one is.
Drawing and shrinking take most of its time; here cases are drawn once, for all mutants, and the
first that breaks a law ends the search.
"""

from __future__ import annotations

from functools import cache

from hypothesis.errors import UnsatisfiedAssumption

from effax.effects import config
from effax.laws.check import Count, Recorded, cases, hold, judge, rule_cases
from effax.laws.generate import CONTROL_KINDS
from effax.laws.law import Law
from effax.laws.one_step import kinds_of

EXAMPLES = 20
"""The number of programs that `check` asks each law about at its default."""
OF_A_RULE = 2 * EXAMPLES // 5
WHOLE = 8
"""The number of whole programs asked here: fewer than `check` asks, which only misses more."""


def kept(strategy, n):
    """The cases that `judge` draws."""
    found = []

    def keep(case):
        found.append(case)
        return (), ()

    judge(Law("keep", keep), strategy, max_examples=n)
    return found


@cache
def of_rule(effect, steps=(), floats=False):
    """Cases of programs of one effect; none for an effect that no kind of steps performs."""
    kinds = kinds_of([effect], steps).get(effect)
    return kept(rule_cases(effect, kinds, floats), OF_A_RULE) if kinds else []


@cache
def of_programs(needs, examples=WHOLE):
    """Whole programs for laws of these needs."""
    return kept(cases(needs, CONTROL_KINDS), examples)


def breaks(law, case):
    """Whether a case breaks a law, or raises what no rule may; a refusal says nothing."""
    count = Count()
    try:
        with config.enable_x64(True), Recorded(count, case, law):
            hold(law, case)
    except UnsatisfiedAssumption:
        return False
    except Exception:
        return True
    return False


def refuses(law, case):
    """Whether a law is undefined of a case."""
    count = Count()
    with config.enable_x64(True), Recorded(count, case, law):
        hold(law, case)
    return count.refused > 0
