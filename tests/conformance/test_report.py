"""The table of reasons names tests that there are, and the page is what the results say."""

import re

import report
import suite
import wording


def summary(**outcomes):
    failures = [
        {"id": test, "error": f"{test} went wrong"}
        for test, outcome in outcomes.items()
        if outcome == "failed"
    ]
    return {"files": {"lax_test": {"tests": outcomes, "failures": failures, "collect_errors": []}}}


def test_a_test_counts_if_jax_passes_it():
    mine = summary(a="passed", b="failed", c="failed", d="skipped", e="internal", f="internal")
    theirs = summary(b="passed", c="failed", d="passed", e="internal", f="passed")
    compared = report.compare(mine, theirs)
    assert compared.left == {"lax_test::b": "b went wrong", "lax_test::d": "skipped"}
    assert (compared.passed, compared.jax_passes, compared.refused_by_both) == (1, 3, 1)


def test_a_file_that_cannot_be_read_is_left():
    mine = summary(a="passed")
    mine["files"]["lax_test"]["collect_errors"] = [{"id": "lax_test", "error": "no such name"}]
    assert report.compare(mine, summary()).left == {"lax_test::collection": "no such name"}


def test_what_was_left_may_be_asked_again():
    left = {f"lax_test::{test}": "wrong" for test in "abcd"}
    kept = report.Compared(10, left, 0, "0.10.2", "2026-11-01")
    asked = report.to_ask_again(left)
    assert asked == {"files": {"lax_test": {"tests": dict.fromkeys("abcd", "failed")}}}
    mine = summary(a="passed", b="failed", c="internal", e="failed")
    found = report.asked_again(kept, mine)
    assert (found.passed, found.date) == (11, "2026-11-01") and found.again > found.date
    assert found.left == {"lax_test::b": "b went wrong", "lax_test::d": "wrong"}


def test_reasons_name_files_that_are_run():
    files = set(suite.all_files())
    patterns = [pattern for _, tests in report.reasons() for pattern in tests]
    assert [pattern for pattern in patterns if pattern.split("::")[0] not in files] == []


def test_no_reason_is_given_twice():
    whys = [why for why, _ in report.reasons()]
    assert sorted(set(whys)) == sorted(whys)


def test_the_page_is_what_the_results_say(tmp_path, monkeypatch):
    page = tmp_path / "conformance.md"
    committed = report.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(report, "PAGE", page)
    report.write_page()
    assert page.read_text(encoding="utf-8") == committed


def test_the_name_of_the_library_in_a_message_is_the_target_s(monkeypatch):
    pattern = r"no JAX array: jax\.numpy\.sin of (a|the) jaxpr, jax.grad"
    theirs = "no JAX array: jax.numpy.sin of a jaxpr, jax.grad"
    ours = "no effax array: jnp.sin of the jaxpr, effax.grad"
    monkeypatch.setenv("HARNESS_TARGET", "effax")
    for words in (pattern, re.compile(pattern)):
        assert all(re.search(wording.expected(words), text) for text in (theirs, ours))
        assert not re.search(wording.expected(words), ours.replace("effax", "numpy"))
    monkeypatch.setenv("HARNESS_TARGET", "jax")
    assert wording.expected(pattern) == pattern
