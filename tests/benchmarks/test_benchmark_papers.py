"""The page of claims is that of the figures, and verdicts follow from them."""

import json
import re
import tomllib
from argparse import Namespace
from itertools import chain

import papers as script
import pytest

from advchunk import registry

PAPERS = tomllib.loads(script.CLAIMS.read_text("utf-8"))
RESULTS = json.loads(script.RESULTS.read_text("utf-8"))
CHUNKERS = registry.rows("chunker", ours=True)


def test_the_page_is_written_from_the_figures():
    assert script.PAGE.read_text("utf-8") == script.page(PAPERS, RESULTS)


def test_every_claim_has_been_tried_or_says_what_is_missing():
    for claim in script.claims_of(PAPERS):
        assert (script.judge(claim, RESULTS) == "not run") == ("missing" in claim), claim["claim"]


def test_every_claim_that_does_not_hold_is_explained():
    for claim in script.claims_of(PAPERS):
        if script.judge(claim, RESULTS) in {"holds partly", "does not hold"}:
            assert claim.get("why") or "The same" in claim["claim"], claim["claim"]


def test_every_chunker_has_claims_or_a_reason_why_it_has_none():
    sources = [source.get("chunkers", ()) for source in PAPERS["sources"]]
    with_claims = {*chain(*sources, *(claim.get("chunkers", ()) for claim in script.claims_of(PAPERS)))}
    assert with_claims.isdisjoint(PAPERS["no_claims"])
    assert with_claims | PAPERS["no_claims"].keys() == {row.name for row in CHUNKERS}


@pytest.mark.parametrize("chunker", CHUNKERS, ids=lambda chunker: chunker.name)
def test_every_paper_that_a_chunker_cites_has_a_claim(chunker):
    if chunker.name in PAPERS["no_claims"]:
        return
    texts = [source["title"] for source in PAPERS["sources"]] + [claim["place"] for claim in script.claims_of(PAPERS)]
    for author, year in re.findall(r"([A-Z]\w+)(?: et al\.| & \w+)? (\d{4})", chunker.source):
        assert any(re.search(rf"{author}\b.* {year}", text) for text in texts), f"{author} {year}"


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("within 0.1", 1.05, True), ("within 0.1", 1.2, False), ("within 5 %", 0.96, True), ("within 5 %", 0.9, False),
        ("at least 2", 2, True), ("at least 2", 1.9, False), ("at most 2", 2, True), ("at most -1", 0, False),
    ],
)  # fmt: skip
def test_rules(rule, value, expected):
    assert script.holds({"rule": rule, "published": 1}, "", value) == expected


def test_outputs_are_read_as_json_lines_of_json_or_tables():
    assert script.read_output('{"a": {"b": 1}}') == {"a": {"b": 1}}
    assert script.read_output('{"a": 1}\n{"a": 2}\n') == {"0": {"a": 1}, "1": {"a": 2}}
    table = "## Sizes\n\n| | **recall** | to it |\n|---|---|---|\n| `recursive` | 62.3 [57, 67] | 1,000 |\n"
    output = script.read_output(table)
    assert script.take(output, "Sizes 1 > recursive > recall") == 62.3
    assert script.take(output, "Sizes 1 > recursive > to it") == 1000


def test_a_claim_is_judged_by_its_rule():
    claim = {"run": "x", "at": "a > {}", "minus": "b > {}", "labels": ["c", "d"], "rule": "at least 0"}
    values = {"a > c": 2.0, "b > c": 3.0, "a > d": 2.0, "b > d": 3.0}
    assert script.judge(claim, {"x": {"values": values}}) == "does not hold"
    assert script.judge(claim, {"x": {"values": values | {"b > c": 1.0}}}) == "holds partly"
    assert script.judge(claim, {"x": {"values": values | {"b > c": 1.0, "b > d": 2.0}}}) == "holds"
    assert script.judge({**claim, "minus": "e > {}"}, {"x": {"values": values}}) == "not run"
    assert script.judge({"missing": "a model"}, {}) == "not run"


def test_tests_are_judged_by_those_that_pass():
    claim, values = {"tests": ["a.py::b"]}, {"b > passed": 2, "b > not passed": 0}
    assert script.judge(claim, {"a.py": {"values": values}}) == "holds"
    assert script.judge(claim, {"a.py": {"values": values | {"b > not passed": 1}}}) == "does not hold"
    assert script.judge({**claim, "refuted": True}, {"a.py": {"values": values}}) == "does not hold"
    assert script.judge(claim, {}) == "not run"


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(script, "BUILD", tmp_path / "build")
    monkeypatch.setattr(script, "RESULTS", tmp_path / "papers.json")
    ran = []

    def execute(name, command, *_):
        ran.append(name)
        return None if name == "slow" else {"command": command, "output": {"a": 1}}

    monkeypatch.setattr(script, "execute", execute)
    claims = [{"run": "quick", "at": "a"}, {"run": "slow", "at": "a"}]
    papers = {"runs": {"quick": "q.py", "slow": "s.py"}, "sources": [{"claims": claims}]}
    args = Namespace(only=[], data=None, golden=None, limit=1)
    script.measure(papers, {}, args)
    results = json.loads(script.RESULTS.read_text("utf-8"))
    assert results == {"quick": {"command": "benchmarks/q.py", "values": {"a": 1.0}}}
    script.measure(papers, results, args)
    assert ran == ["quick", "slow", "slow"]
    script.measure(papers, results, Namespace(**{**vars(args), "only": ["quick"]}))
    assert ran == ["quick", "slow", "slow", "quick"]
