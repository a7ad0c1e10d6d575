"""Each test that takes long has its day."""

from collections import Counter

from tests.rotation import DAYS, ROOT, of_the_day, rotating

CASES = [
    *(f"a.py::long[{i}]" for i in range(10)),
    "a.py::single",
    "b.py::short[0]",
    "b.py::short[1]",
]


def test_each_case_is_asked_once_in_a_round_and_short_ones_daily():
    turns = frozenset(["a.py::long", "a.py::single"])
    for start in (0, 740000):
        days = [of_the_day(CASES, turns, start + i) for i in range(DAYS)]
        times = Counter(case for chosen in days for case in chosen)
        assert times == {case: DAYS if "short" in case else 1 for case in CASES}


def test_those_that_take_turns_are_there():
    sources: dict[str, str] = {}
    for address in sorted(rotating()):
        file, _, name = address.partition("::")
        if file not in sources:
            sources[file] = (ROOT / file).read_text()
        assert f"def {name}(" in sources[file], f"{address} is no more: tests/rotation.py says how"
