"""The report: one page that says what the standings say, loads nothing, and trusts no text."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, version
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document, Span
from advchunk.evaluation import EvaluationTask, Question, Reference, compare, compare_by_kind
from advchunk.evaluation.comparison import report
from advchunk.evaluation.comparison.harness import Result
from advchunk.evaluation.comparison.tables import as_rows
from advchunk.evaluation.metrics.metering import RunCost

EVIL = "</script><script>alert('a')</script><img src=x onerror=alert(1)>&amp;\u2028"
ASTRAL = "😀 One. 😀😀 Two. \ud800 Three."
QUESTIONS = 40


def result(label, group="stable", gain=0.0, seconds=1.0, curve=None, tokens=(40, 90, 200), **more):
    scores = np.clip(np.tile([0.2, 0.4, 0.6, 0.8], QUESTIONS // 4) + gain, 0, 1)
    names = ["recall", "iou", "recall_at_k", "precision_at_k", "iou_at_k", "hit_at_k", "reciprocal_rank", "ndcg"]
    return Result(
        label=label,
        group=group,
        settings={"said": label},
        **dict.fromkeys([*names, "precision_omega"], scores),
        extra={"claims_at_k": scores},
        tokens=np.array(tokens),
        curve=curve or {250: 0.3 + gain, 1000: 0.5 + gain},
        redundancy=1.0,
        coverage=1.0,
        within=0.6,
        between=0.4,
        over=0.0,
        under=0.25,
        indexing_cost=RunCost(calls=0, texts=0, tokens=0),
        **{"forced": 0.5, "chunking_cost": RunCost(seconds, seconds, None, 10**7, 1, 30, 900, None, {"model": 900})}
        | more,
    )


def trial_of(text="One. Two. Three.", name="a.md", asked="Which?"):
    questions = [Question(f"{asked} {i}", (Reference(name, Span(5, 8)),)) for i in range(QUESTIONS)]
    return EvaluationTask((Document(text, name),), tuple(questions), budgets=(250, 1000))


def with_chunks(label, *groups):
    """Return the standings, one candidate with chunks in the only document: each given by its spans."""
    flat = [[[7, *(at for span in spans for at in span)] for spans in groups]]
    return compare([replace(item, chunks=flat) if item.label == label else item for item in OUTCOMES], "base")


OUTCOMES = [
    result("base", "baseline"),
    result("up", "stable", 0.1, 3.0),
    result("level", "external", 0.0, 0.0),
    result("down", "experimental", -0.1, 0.2),
]


class Page(HTMLParser):
    """What a browser would make of it: its elements, and the text within each."""

    VOID = frozenset(["meta", "br", "input", "img"])

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in self.VOID:
            self.open.append((tag, len(self.texts) - 1))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        for _, index in self.open:
            self.texts[index] += data

    def of(self, tag, **attributes):
        chunks = zip(self.elements, self.texts, strict=True)
        return [text for (name, attrs), text in chunks if name == tag and attributes.items() <= attrs.items()]


def viewer_data(page):
    return json.loads(page.of("script", id="data")[0])


def javascript(text, start, end):
    return text.encode("utf-16-le", "surrogatepass")[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def test_the_leaders_are_told_in_order_each_with_its_verdict():
    rows = compare(OUTCOMES, "base")
    page = Page(report.render_html(trial_of(), rows))
    lines = [text for text in page.of("tr") if "Candidate" not in text][:4]
    assert [text.split()[0] for text in lines] == ["up", "base", "level", "down"]
    verdicts = [re.findall("better|worse|noise|baseline", text) for text in lines]
    assert verdicts == [["better"], ["baseline"], ["noise"], ["worse"]]
    assert "+10.0" in lines[0]
    assert "-10.0" in lines[3]
    # Grey where it is noise, and only there.
    drawn = [attrs["class"] for tag, attrs in page.elements if tag == "td" and "drawn" in attrs.get("class", "")][:7]
    assert [name.split()[1:] for name in drawn] == [[], ["better"], [], [], ["noise"], [], ["worse"]]
    lead = " ".join(page.of("p", **{"class": "lead"})[0].split())
    assert "up scores best: recall in the budget 60.0 %" in lead
    assert "1 is better, 1 worse, and 1 not significantly different" in lead


def test_experimental_ones_are_compared_with_the_best_stable_one_if_that_is_not_the_baseline():
    titles = Page(report.render_html(trial_of(), compare(OUTCOMES, "base"))).of("caption")
    assert titles[1:] == ["Compared with the best stable chunker, up."]
    assert len(Page(report.render_html(trial_of(), compare(OUTCOMES, "up"))).of("caption")) == 1
    assert len(Page(report.render_html(trial_of(), compare(OUTCOMES[:3], "base"))).of("caption")) == 1


def test_both_kinds_have_tables_and_charts_of_their_own():
    matched = [replace(item, label=f"{item.label} at 100", size_matched=True) for item in OUTCOMES]
    page = Page(report.render_html(trial_of(), compare_by_kind([*OUTCOMES, *matched], ["base", "base at 100"])))
    assert page.of("h2")[:2] == ["Size-matched", "As published"]
    assert page.of("h3") == [
        "Experimental chunkers", "Retrieval", "Shape", "Cost", "Recall by budget", "Score by cost",
        "Chunk sizes",
    ] * 2  # fmt: skip
    captions = page.of("caption")
    assert captions[0].endswith("differences from base at 100.")
    assert captions[2].endswith("differences from base.")
    assert "At matched size: up at 100 scores best" in " ".join(page.of("p", **{"class": "lead"})[0].split())


def heads(html):
    return [head for head in Page(html).of("th", scope="col") if head]


def test_missing_values_are_dashes_and_empty_columns_are_left_out():
    usual = heads(report.render_html(trial_of(), compare(OUTCOMES, "base")))
    assert {"claims@k", "within", "forced, %", "peak MB", "tokens sent"} <= set(usual)
    assert not {"money", "GPU s", "Pk", "F1"} & set(usual)
    gpu = result("gpu", chunking_cost=RunCost(1, 1, 0.5, gpu_bytes=10**9), boundaries={"pk": 0.25}, forced=None)
    rows = compare([*OUTCOMES, replace(gpu, extra={"claims_at_k": np.full(QUESTIONS, np.nan)})], "base")
    html = report.render_html(trial_of(), rows, prices={"model": 2.0})
    assert {"money", "GPU s", "GPU MB", "Pk"} <= set(heads(html))
    assert "F1" not in heads(html)
    assert "2.0 per million tokens of model" in Page(html).of("p")[-1]
    lines = re.findall(r"<tr><th scope=\"row\">.*?</tr>", html, re.DOTALL)
    cells = [re.findall(r"<td>(.*?)</td>", line) for line in lines if ">gpu<" in line or "</svg>gpu" in line]
    ranks, shape, cost, *_ = cells
    assert len(ranks) == 4
    assert shape[3].endswith(">–</span>")  # forced
    assert cost[:3] == ["1", "1", "0.5"]
    assert [cell.endswith(">–</span>") for cell in cost[3:]] == [True, False, True, True, True, True]
    base = [re.findall(r"<td>(.*?)</td>", line) for line in lines if "</svg>base" in line][2]
    assert base[-2] == "0.0018"  # 900 tokens at 2 a million


def test_nothing_is_loaded():
    html = report.render_html(trial_of(), with_chunks("up", [(0, 16)]))
    page = Page(html)
    assert not re.search(r"https?:|url\(|@import|//cdn", html)
    assert {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "base"} == set()
    assert not any({"src", "href", "xlink:href"} & attrs.keys() for _, attrs in page.elements)
    assert any("default-src 'none'" in (attrs.get("content") or "") for _, attrs in page.elements)


def test_no_text_is_taken_for_markup():
    task = trial_of(EVIL + ASTRAL, EVIL, EVIL)
    rows = compare([result(EVIL, "baseline", chunks=[[[7, 0, 9]]]), result("b" + EVIL)], EVIL)
    page = Page(report.render_html(task, rows, notes={EVIL: EVIL}, prices={EVIL: 1.0}))
    assert len(page.of("script")) == 2
    assert len(page.of("img")) == 0
    assert page.of("option") == [EVIL, EVIL]
    assert viewer_data(page)["documents"][0]["text"] == EVIL + ASTRAL
    assert viewer_data(page)["questions"][3] == f"{EVIL} 3"
    assert page.of("li")[-1] == f"{EVIL}: {EVIL}"
    assert [attrs["title"] for tag, attrs in page.elements if tag == "sup"] == [EVIL]


def test_notes_are_marked_in_the_rows_and_printed_once():
    notes = {"up": "brittle: less of `a` costs", "down": "slow", "level": "slow", "gone": "?"}
    html = report.render_html(trial_of(), compare(OUTCOMES, "base"), notes=notes)
    page = Page(html)
    assert page.of("li")[-2:] == ["up: brittle: less of a costs", "level; down: slow"]
    assert page.of("code")[0] == "a"
    assert "`" not in html
    marks = {text.split("⚠")[0].strip(): text.split("⚠")[1:] for text in page.of("th", scope="row") if "⚠" in text}
    assert marks == {"up": [" 1"], "level": [" 2"], "down": [" 2"]}
    assert "Notes" not in Page(report.render_html(trial_of(), compare(OUTCOMES, "base"))).of("h2")


def test_a_size_that_could_not_be_matched_is_told_and_leads_nothing():
    sized = [replace(item, size_matched=True, target_mean=110.0) for item in OUTCOMES]
    off = result("off", "stable", 0.15, 9.0, tokens=(40, 120), size_matched=True, target_mean=600.0)
    page = Page(report.render_html(trial_of(), compare([off, *sized], "base")))
    assert [text.split("mean")[0].strip() for text in page.of("th", scope="row")][:2] == ["off", "up"]
    assert page.of("span", **{"class": "note"}) == ["mean 80, target 600"]
    assert page.of("p", **{"class": "lead"})[0].startswith("up scores best")
    assert page.of("caption")[1:] == ["Compared with the best stable chunker, up."]
    alone = Page(report.render_html(trial_of(), compare([off], "off")))
    assert alone.of("p", **{"class": "lead"})[0].startswith("off scores best")


def test_it_is_told_what_was_run(tmp_path):
    run_info = {"questions": "made from the documents", "vectors": "units"}
    folder = report.write_report(tmp_path, trial_of(), compare(OUTCOMES, "base"), run_info=run_info)
    page = Page((folder / "report.html").read_text("utf-8"))
    assert (
        "k = 5, embedder advchunk/minilm-static-256-v2; questions made from the documents; vectors units."
        in " ".join(page.of("p", **{"class": "quiet"})[0].split())
    )
    assert "questions made from the documents, vectors units" in page.of("dd")
    assert (folder / "comparison.md").read_text("utf-8").startswith(
        "By recall in the budget; 40 questions; a budget of 1,000 tokens; k = 5; embedder advchunk/minilm-static-256-v2; "
        "questions made from the documents; vectors units.\n"
    )  # fmt: skip
    provenance = json.loads((folder / "results.json").read_text("utf-8"))["provenance"]
    assert provenance["run"] == run_info
    assert provenance["scipy"] == version("scipy")
    assert "run" not in report.provenance(trial_of())


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    def missing(name):
        if name == "transformers":
            raise PackageNotFoundError
        return "1.2"

    monkeypatch.setattr(report, "version", missing)
    provenance = report.provenance(trial_of())
    assert (provenance["networkx"], provenance["scikit-learn"], "transformers" in provenance) == ("1.2", "1.2", False)


def test_iou_is_told_to_the_hundredth():
    some = [replace(item, iou=item.iou / 10 + 1e-4 * i) for i, item in enumerate(OUTCOMES)]
    page = Page(report.render_html(trial_of(), compare(some, "base", "iou"), metric="iou"))
    lead = " ".join(page.of("p", **{"class": "lead"})[0].split())
    assert "up scores best: IoU in the budget 6.01 % [" in lead
    assert "6.01" in page.of("td")[0]


def test_pictures_are_well_formed_and_within_their_frames():
    plain = [result("one", "baseline", seconds=0.0, curve={9: 0.5}, tokens=(3,)), result("two", curve={9: 0.5})]
    for results in (OUTCOMES, plain, plain[:1], [result("all", "baseline", 1.0, 5e4, {7: 1.0}, (1, 10**6))]):
        html = report.render_html(trial_of(), compare(results, results[0].label))
        pictures = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]
        assert len(pictures) > len(results) * 3
        for picture in pictures:
            left, top, wide, high = map(float, picture.get("viewBox", "-1 -1 15 15").split())
            for node in picture.iter():
                pairs = [(node.get(f"{x}{n}"), left, left + wide) for x in ("x", "cx") for n in ("", 1, 2)]
                pairs += [(node.get(f"{y}{n}"), top - 3, top + high + 3) for y in ("y", "cy") for n in ("", 1, 2)]
                assert all(low <= float(at) <= most for at, low, most in pairs if at is not None)


def test_the_same_arguments_give_the_same_page():
    made = [report.render_html(trial_of(), with_chunks("up", [(0, 16)])) for _ in range(2)]
    assert made[0] == made[1]


def test_the_text_is_there_once_and_spans_cut_it_as_python_does():
    groups = [[(0, 6), (14, 19)], [(6, 14)], [(3, 9)]]
    task = trial_of(ASTRAL)
    viewer = viewer_data(Page(report.render_html(task, with_chunks("down", *groups))))
    assert [chunk["label"] for chunk in viewer["candidates"]] == ["down"]
    assert [chunk["text"] for chunk in viewer["documents"]] == [ASTRAL]
    chunks = viewer["candidates"][0]["chunks"][0]
    assert [chunk[0] for chunk in chunks] == [7, 7, 7]
    cut = [[javascript(ASTRAL, a, b) for a, b in zip(chunk[1::2], chunk[2::2], strict=True)] for chunk in chunks]
    assert cut == [[ASTRAL[a:b] for a, b in spans] for spans in groups]
    assert {javascript(ASTRAL, a, b) for _, a, b in viewer["documents"][0]["answers"]} == {ASTRAL[5:8]}
    assert [q for q, _, _ in viewer["documents"][0]["answers"]] == list(range(QUESTIONS))
    assert viewer["candidates"][0]["recall"][:4] == [10, 30, 50, 70]


@given(st.text(st.characters(), max_size=20))
def test_places_are_lengths_in_utf_16(text):
    slow = [len(text[:i].encode("utf-16-le", "surrogatepass")) // 2 for i in range(len(text) + 1)]
    assert report._utf16_offsets(text).tolist() == slow


def test_histograms_count_every_chunk_by_thirds_of_an_octave():
    tokens = [1, 8, 9, 10, 11, 16, 31, 32, 63, 64, 100]
    chart = report._size_histograms(compare([result("one", "baseline", tokens=tokens)], "one"))
    counts = {}
    for size in tokens:
        place = next(i for i in range(40) if max(size, 8) < 8 * 2 ** ((i + 1) / 3) - 1e-9)
        counts[place] = counts.get(place, 0) + 1
    top = max(counts.values())
    octaves = 4
    assert chart["charts"][0]["bars"] == [
        (round(160 * i / (3 * octaves), 1), round(60 * n / top, 1)) for i, n in sorted(counts.items())
    ]
    assert chart["x"].ticks == ((0, "8"), (80, "32"), (160, "128"))


@given(st.lists(st.floats(14, 336), min_size=1, max_size=4))
def test_labels_spread_keep_their_order_and_their_distance(places):
    moved = report._spread(places)
    order = np.argsort(places, kind="stable")
    gaps = [moved[b] - moved[a] for a, b in pairwise(order)]
    assert all(gap >= report._LINE_HEIGHT - 0.11 for gap in gaps)
    assert max(moved) <= report._BOTTOM
    if all(places[b] - places[a] >= report._LINE_HEIGHT for a, b in pairwise(order)):
        assert moved == [round(place, 1) for place in places]


@given(st.lists(st.tuples(st.floats(60, 530), st.floats(30, 330)), min_size=1, max_size=12))
def test_names_of_points_never_overlap(places):
    points = [{"label": f"candidate {i}", "x": x, "y": y} for i, (x, y) in enumerate(places)]
    report._place_labels(points)
    boxes = [
        (x, y - 11, x + report._CHARACTER_WIDTH * len(name), y + 3)
        for x, y, name in (p["name"] for p in points if "name" in p)
    ]
    assert boxes
    clear = 0.2  # places are rounded
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] + clear or b[2] <= a[0] + clear or a[3] <= b[1] + clear or b[3] <= a[1] + clear
    assert all(box[0] >= report._LEFT and box[2] <= report._WIDTH + clear for box in boxes)


@given(st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=6))
def test_axes_end_in_round_numbers_and_hold_all(values):
    axis = report._percent_axis(values, 0, 100)
    assert axis.low <= min(values) <= max(values) <= axis.high
    assert 2 <= len(axis.ticks) <= 8
    assert [float(tick) for _, tick in axis.ticks][:: len(axis.ticks) - 1] == [axis.low, axis.high]
    assert [at for at, _ in axis.ticks][:: len(axis.ticks) - 1] == [0, 100]


def test_the_front_joins_those_that_none_cheaper_beats():
    gains = [(0.0, 1.0), (0.1, 2.0), (0.05, 3.0), (-0.1, 0.1), (-0.15, 0.5), (0.2, 9.0)]
    results = [result(str(i), "stable", gain, seconds) for i, (gain, seconds) in enumerate(gains)]
    chart = report._cost_chart(compare(results, "0"))
    free = [str(i) for i, (g, s) in enumerate(gains) if not any(h >= g and t < s for h, t in gains)]
    at = {(point["x"], point["y"]): point["label"] for point in chart["points"]}
    assert sorted(at[place] for place in chart["front"]) == free == ["0", "1", "3", "5"]


def test_the_best_of_each_group_is_named_in_the_curves():
    chart = report._recall_curves(compare([*OUTCOMES, result("lower", "stable", 0.05)], "base"))
    assert {line["label"]: line["first"] for line in chart["lines"]} == {
        "up": True, "lower": False, "base": True, "level": True, "down": True,
    }  # fmt: skip
    assert all(("at" in line) == line["first"] for line in chart["lines"])


def test_four_files_say_the_same(tmp_path):
    rows = compare(OUTCOMES, "base", "iou")
    task = trial_of()
    folder = report.write_report(tmp_path / "a" / "b", task, rows, metric="iou")
    assert sorted(path.name for path in folder.iterdir()) == [
        "comparison.csv", "comparison.md", "report.html", "results.json",
    ]  # fmt: skip
    assert folder.joinpath("report.html").read_text(encoding="utf-8") == report.render_html(task, rows, metric="iou")
    read = list(csv.DictReader(io.StringIO(folder.joinpath("comparison.csv").read_text(encoding="utf-8"))))
    assert read == [{key: "" if value is None else str(value) for key, value in row.items()} for row in as_rows(rows)]
    assert "| up |" in folder.joinpath("comparison.md").read_text(encoding="utf-8")
    data = json.loads(folder.joinpath("results.json").read_text(encoding="utf-8"))
    assert data["comparisons"] == as_rows(rows)
    assert data["metric"] == "iou"
    assert compare([Result.from_dict(item) for item in data["results"]], "base")[0].score == rows[0].score
    assert (
        data["provenance"] | {"k": 5, "budget": 1000, "budgets": [250, 1000], "questions": QUESTIONS}
        == (data["provenance"])
    )
    assert data["provenance"]["numpy"] == np.__version__
    assert data["provenance"]["embedder"] == "None"
    assert data["provenance"]["bootstrap"] == {"confidence": 0.95, "resamples": 9999, "seed": 0}


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    rows = compare([result("a\ud800", "baseline"), result("b")], "b")
    report.write_report(tmp_path, trial_of(ASTRAL), rows)
    assert "a&#55296;" in tmp_path.joinpath("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([], "rows must have"),
        (compare([result("a", chunks=[[], []])], "a"), "results must be of the task's 1 documents"),
    ],
)
def test_questions_that_do_not_fit_are_refused_before_writing(tmp_path, rows, rule):
    with pytest.raises(ConfigurationError, match=rule):
        report.write_report(tmp_path / "new", trial_of(), rows)
    assert not (tmp_path / "new").exists()
