"""The page of claims is that of the figures, and verdicts follow from them."""

import json
import tomllib

import pytest

import papers as script

PAPERS = tomllib.loads(script.CLAIMS.read_text("utf-8"))
RESULTS = json.loads(script.RESULTS.read_text("utf-8"))


def test_the_page_is_written_from_the_figures():
    assert script.PAGE.read_text("utf-8") == script.page(PAPERS, RESULTS)


def test_every_claim_has_been_tried_or_says_what_is_missing():
    assert [claim["claim"] for claim in script.claims_of(PAPERS) if script.judge(claim, RESULTS) == "not run yet"] == []


def test_every_difference_is_explained():
    for source in PAPERS["sources"]:
        for claim in source["claims"]:
            if script.judge(claim, RESULTS) == "differs":
                assert claim.get("why") or "The same" in claim["claim"], claim["claim"]


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
    claim = {"run": "x", "at": "a > {}", "minus": "b > {}", "labels": ["c"], "rule": "at least 0"}
    values = {"a > c": 2.0, "b > c": 3.0}
    assert script.judge(claim, {"x": {"values": values}}) == "differs"
    assert script.judge(claim, {"x": {"values": values | {"b > c": 1.0}}}) == "reproduced"
    assert script.judge({**claim, "minus": "d > {}"}, {"x": {"values": values}}) == "not run yet"
    assert script.judge({"missing": "a model"}, {}) == "not to be had offline"
