"""A view: one page that shows every chunk where it is, loads nothing, and trusts no text."""

import base64
import hashlib
import json
import re
from html import escape, unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

import browser
from advchunk import Block, ConfigurationError, Document, RecursiveChunker, SlidingWindowChunker, Span, create
from advchunk.chunkers.explanations import Explanation
from advchunk.cli.viewer import View
from advchunk.records import Chunk, Place
from advchunk.retrieval import PassageCutter

EVIL = "</script><script>alert('a')</script><img src=x onerror=alert(1)>&amp;\u2028"
TEXT = "😀 Cats purr. Cats nap.\n\nCourts sit. 😀 Courts rule.\n\nShips sail. Ships sink."


def data_of(page):
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])


def view_of(text, **methods):
    return View({name: chunker.explain(Document(text, "a.md")) for name, chunker in methods.items()})


def explanation(text, *groups, **document):
    """Explain chunks of these spans."""
    chunks = [
        Chunk("".join(text[a:b] for a, b in spans), tuple(Span(*span) for span in spans), 5, index, f"id{index}")
        for index, spans in enumerate(groups)
    ]
    return Explanation(Document(text, "a.md", **document), chunks)


def two_methods():
    """Return a view of chunks, of which one method has the second in two parts."""
    halves = explanation(TEXT, [(0, 12)], [(12, 40)], [(40, len(TEXT))])
    return View({"a": explanation(TEXT, [(0, 12)], [(12, len(TEXT))]), "b": halves})


def eights():
    return View(RecursiveChunker(max_tokens=8).explain(Document(TEXT, "a.md", metadata={"author": "Ann"})))


def blank():
    """Return a view of methods between whose boundaries is white space alone."""
    text = "Cats.\n\nDogs."
    return View({"a": explanation(text, [(0, 7)], [(7, 12)]), "b": explanation(text, [(0, 5)], [(5, 12)])})


def tens():
    a = explanation(TEXT, *([(start, min(start + 10, len(TEXT)))] for start in range(0, len(TEXT), 10)))
    return View({"a": a, "b": explanation(TEXT, [(0, len(TEXT))])})


BOTH = [("piece current", 1), ("piece counterpart", 1), ("piece counterpart", 2)]
SAME = [("piece current", 0), ("piece counterpart", 0)]


def test_metadata_that_is_no_json_does_not_blank_the_page():
    values = {"mean": float("nan"), "most": [float("inf"), {1: float("-inf")}], "of": TEXT.encode, "year": 1703}
    page = View(RecursiveChunker().explain(Document(TEXT, "a.md", metadata=values))).html
    data = json.loads(re.search(r'type="application/json">(.*?)</script>', page)[1], parse_constant=pytest.fail)
    shown = data["documents"][0]["methods"][0]["chunks"][0]["metadata"]
    assert (shown["mean"], shown["most"], shown["year"]) == ("nan", ["inf", {"1": "-inf"}], 1703)


@given(st.text(st.characters(codec=None)))
def test_the_data_hold_the_text_and_the_page_ends_no_script_early(text):
    page = View(explanation(text + "x", [(0, len(text) + 1)]), title=text).html
    (document,) = data_of(page)["documents"]
    assert document["text"].encode("utf-16", "surrogatepass") == (text + "x").encode("utf-16", "surrogatepass")
    assert page.count("</script>") == 2


def test_the_only_script_that_may_run_is_the_page_s():
    page = view_of(EVIL, a=RecursiveChunker()).html
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]
    allowed = re.search(r"script-src 'sha256-([^']*)'", page)[1]
    assert base64.b64decode(allowed) == hashlib.sha256(script.encode()).digest()
    assert re.findall(r"https?:", page) == []


def test_a_notebook_shows_the_page_in_a_frame_that_can_do_nothing_else():
    view = view_of(TEXT, a=RecursiveChunker())
    frame = view._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    assert unescape(re.search('srcdoc="([^"]*)"', frame)[1]) == view.html


@pytest.mark.parametrize(
    ("explanations", "options", "rule"),
    [
        ([], {}, "must have a document"),
        ({"a": []}, {}, "must have a document"),
        ({"first": explanation("a"), "second": explanation("b")}, {}, "the same documents"),
        (explanation("a"), {"question": "a", "budget": 0}, "budget must be a whole number >= 1"),
    ],
)
def test_a_view_that_cannot_be_is_refused(explanations, options, rule):
    with pytest.raises(ConfigurationError, match=rule):
        View(explanations, **options)


GUIDE = "😀 Tea.\n\nBoil the water. Add green tea.\n\nWait two minutes & a bit. Pour it.\n\nCats nap. Cats purr.\n"
WAIT = "How many minutes should I wait?"


def passages_of(page, document=0):
    """Return the texts of the passages in the data of a page."""
    own = data_of(page)["documents"][document]
    return [
        "".join(own["text"][a:b] for a, b in zip(spans[::2], spans[1::2], strict=True))
        for spans in (chunk["spans"] for chunk in own["methods"][0]["chunks"])
    ]


def test_a_question_has_passages_within_its_budget_and_a_score_for_each_sentence():
    explained = RecursiveChunker(max_tokens=12).explain(Document(GUIDE, "tea.md"))
    for budget in (9, 14, 99):
        page = View(explained, question=WAIT, budget=budget).html
        assert "Wait two minutes & a bit." in passages_of(page)[0]
        method = data_of(page)["documents"][0]["methods"][0]
        assert sum(chunk["tokens"] for chunk in method["chunks"]) <= budget
        scores = {GUIDE[start:].split(maxsplit=1)[0]: score for start, score in method["sentences"]}
        assert max(scores, key=scores.get) == "Wait"
        assert [*scores] == sorted(scores, key=GUIDE.index)


def test_the_question_is_answered_without_a_script():
    explained = RecursiveChunker(max_tokens=12).explain(Document(GUIDE, "tea.md"))
    page = re.sub(
        "<script.*?</script>", "", View({"a": explained}, question=f"{WAIT} <b>", budget=9).html, flags=re.DOTALL
    )
    assert "<h2>How many minutes should I wait? &lt;b&gt;</h2>" in page
    assert "1 passage, 7 of 9 tokens" in page
    assert "Wait two minutes &amp; a bit." in page
    start = GUIDE.index("Wait")
    assert f"tea.md, line 5, characters {start}-{start + 25} <b>7 tokens</b>" in unescape(page)
    met = next(chunk for chunk in explained.chunks if "Wait" in chunk.text)
    assert f"a: 1 of {len(explained.chunks)} chunks, {met.tokens} tokens" in page
    left, width = (round(10_000 * offset / len(GUIDE)) for offset in (start, 25))
    assert f'class="passage" d="M{left} 0h{width}v' in page


@pytest.mark.parametrize(
    ("question", "budget", "says"), [("Zebra?", 99, "No word of the question"), (WAIT, 1, "fits into 1 ")]
)
def test_a_question_without_an_answer_says_so(question, budget, says):
    page = View(RecursiveChunker().explain(Document(GUIDE)), question=question, budget=budget).html
    assert says in page
    assert passages_of(page) == []
    assert '<ol id="passages"' not in page


def test_documents_of_one_name_share_the_budget():
    texts = (GUIDE, " ", "Dogs bark.\n\nWait for minutes.")
    page = View([RecursiveChunker().explain(Document(text, "a.md")) for text in texts], question=WAIT, budget=40).html
    by_document = [passages_of(page, number) for number in range(3)]
    assert all(own in text for passages, text in zip(by_document, texts, strict=True) for own in passages)
    assert [bool(passages) for passages in by_document] == [True, False, True]
    assert 0 < int(re.search(r"(\d+) of 40 tokens", page)[1]) <= 40


def test_a_question_finds_other_forms_of_its_words_without_a_language():
    explained = RecursiveChunker().explain(Document("Der Hund bellt.\n\nDie Häuser brennen."))
    cutter = PassageCutter(tokenizer="words")
    assert passages_of(View(explained, question="Welches Haus?", budget=3, cutter=cutter).html) == [
        "Die Häuser brennen."
    ]


class Seen(browser.Seen):
    """A view as the browser shows it."""

    def pieces(self):
        """Return the class, chunk, and text of each piece, with the white space after it, which is not shown."""
        matches = re.findall(r'<span class="(piece[^"]*)" data-chunk="(\d+)"[^>]*>(.*?)</span>', self.dom, re.DOTALL)
        pieces = []
        for kind, chunk, text in matches:
            before = pieces.pop() if "gap" in kind and pieces and pieces[-1][1] == int(chunk) else ("", 0, "")
            pieces.append((before[0] or kind, int(chunk), before[2] + unescape(text)))
        return pieces

    def details(self):
        """Return the words of the facts of a chunk."""
        facts = re.search(r"<aside.*?</aside>", self.dom, re.DOTALL)[0]
        return " ".join(unescape(re.sub("<[^>]*>", " ", facts)).split())


@pytest.mark.slow
@browser.needs_browser
def test_every_chunk_is_shown_with_its_text_in_a_browser(tmp_path):
    explained = RecursiveChunker(max_tokens=8).explain(TEXT)
    seen = Seen(View(explained).html, tmp_path)
    assert (seen.complaints, seen.asked) == ([], set())
    assert [(chunk, text) for _, chunk, text in seen.pieces()] == [(c.index, c.text) for c in explained.chunks]


@pytest.mark.long
@browser.needs_browser
class TestInABrowser:
    @pytest.mark.parametrize(("width", "least"), [(390, 300), (900, 220), (1440, 220)])
    def test_a_page_is_no_wider_than_its_window_and_its_columns_stay_readable(self, width, least, tmp_path):
        """A window of a headless browser has at least 500 pixels, so that the page is in a frame."""
        page = view_of(TEXT, **{f"m{number}": RecursiveChunker(max_tokens=8) for number in range(6)}).html
        frame = f'<iframe style="border:0;width:{width}px;height:700px" srcdoc="{escape(page)}"></iframe>'
        script = """
          const frame = document.querySelector("iframe");
          frame.onload = () => {
            const { documentElement: root } = frame.contentDocument;
            const columns = [...root.querySelectorAll(".column")].map((column) => column.clientWidth);
            document.title = [root.scrollWidth, ...columns];
          };
        """
        seen = Seen(f"<title></title><body>{frame}</body>", tmp_path, script=script)
        whole, *columns = map(int, re.search("<title>(.*?)</title>", seen.dom)[1].split(","))
        assert width - 15 <= whole <= width  # less a scroll bar
        assert len(columns) == 6
        assert min(columns) >= least

    def test_text_is_not_markup(self, tmp_path):
        seen = Seen(view_of(EVIL, **{EVIL: RecursiveChunker()}).html, tmp_path)
        assert (seen.complaints, seen.asked) == ([], set())
        assert [text for *_, text in seen.pieces()] == [EVIL]

    def test_passages_of_a_chunk_share_a_color_and_repeated_text_is_marked(self, tmp_path):
        page = View(explanation(TEXT, [(0, 12), (40, 50)], [(12, 30)], [(25, 40)], [(50, len(TEXT))])).html
        seen = Seen(page, tmp_path)
        assert [(kind, chunk) for kind, chunk, _ in seen.pieces()] == [
            ("piece", 0), ("piece", 1), ("piece repeated", 2), ("piece", 2), ("piece", 0), ("piece", 3),
        ]  # fmt: skip
        hues = re.findall(r'data-chunk="(\d+)"[^>]*--hue:\s*(\d+)', seen.dom)
        assert len(set(hues)) == 4
        assert len({hue for _, hue in hues}) >= 3
        assert "".join(text for *_, text in seen.pieces()) == TEXT

    def test_parents_are_not_drawn_over_their_children(self, tmp_path):
        explained = explanation("Cats purr. Dogs bark.", [(0, 21)], [(0, 11)], [(11, 21)])
        root, *children = explained.chunks
        nested = [root, *(Chunk(c.text, c.spans, 5, c.index, c.id, level=1, parent=0) for c in children)]
        seen = Seen(View(Explanation(explained.document, nested)).html, tmp_path)
        assert [(kind, chunk) for kind, chunk, _ in seen.pieces()] == [("piece", 1), ("piece", 2)]

    @pytest.mark.parametrize(
        ("page", "script", "marked", "says"),
        [
            (eights, "press('j'); press('j'); press('j'); press('k');", [("piece current", 1)], "Chunk 1 Ann"),
            (eights, "pieces[2].click();", [("piece current", 2)], "Chunk 2"),
            (eights, "pieces[2].click(); press('Escape');", [], ""),
            (two_methods, "pieces[2].click(); pieces[2].click();", [], ""),
            (two_methods, "pieces[1].click();", BOTH, "in b chunks 1, 2"),
            (
                two_methods,
                "pieces[1].dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));",
                BOTH,
                "chunks 1, 2",
            ),
            (two_methods, "pieces[0].click();", SAME, "in b chunk 0, the same"),
            (blank, "pieces[0].click();", SAME, "in b chunk 0 "),
            (tens, "pieces[4].click(); document.getElementById('difference').click();", None, "Chunk 5 of a"),
        ],
    )
    def test_keys_and_clicks_mark_a_chunk_and_its_counterparts(self, page, script, marked, says, tmp_path):
        ready = """
          const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
          const pieces = document.querySelectorAll(".piece:not(.gap)");
        """
        seen = Seen(page().html, tmp_path, script=ready + script)
        assert seen.complaints == []
        assert marked is None or [piece[:2] for piece in seen.pieces() if piece[0] != "piece"] == marked
        assert "advchunk_keys" not in seen.details()
        assert all(word in seen.details() for word in says.split())

    def test_columns_show_the_same_text_at_the_same_height(self, tmp_path):
        text = "".join(f"Ship {number} sails. {'Wind and waves. ' * 20}\n\n" for number in range(400))
        view = view_of(text, a=RecursiveChunker(max_tokens=100), b=SlidingWindowChunker(max_tokens=300))
        script = """
          const pieceOf = (column) => [...column.querySelectorAll(".piece")].find((piece) => piece.textContent.includes("Ship 300 "));
          const columns = [...document.querySelectorAll(".text")];
          const height = (column) => {
            const range = new Range(), text = pieceOf(column).firstChild, start = text.data.indexOf("Ship 300 ");
            range.setStart(text, start);
            range.setEnd(text, start + 4);
            return range.getBoundingClientRect().top;
          };
          const record = (moment, then, frames = 250) => requestAnimationFrame(() => {  // which scrolls are drawn in
            const heights = columns.map(height);
            document.body.setAttribute(`data-${moment}`, heights);
            if (Math.abs(heights[0] - heights[1]) < 2 || !frames) then();
            else record(moment, then, frames - 1);
          });
          pieceOf(columns[1]).scrollIntoView();
          record("scrolled", () => {
            pieceOf(columns[0]).click();
            record("clicked", () => {});
          });
        """
        seen = Seen(view.html, tmp_path, script=script)
        assert seen.complaints == []
        for moment in ("scrolled", "clicked"):
            left, right = map(float, re.search(f'data-{moment}="([^"]*)"', seen.dom)[1].split(","))
            assert abs(left - right) < 2

    def test_differences_between_methods_are_counted_and_marked(self, tmp_path):
        seen = Seen(two_methods().html, tmp_path, script="document.getElementById('difference').click();")
        assert seen.complaints == []
        facts = re.findall(r'<p class="facts quiet">(.+?)</p>', seen.dom)
        assert [re.search(r"\d+ of \d+ boundaries", fact)[0] for fact in facts] == [
            "0 of 1 boundaries",
            "1 of 2 boundaries",
        ]
        assert seen.dom.count('class="cut only"') == 1
        assert "Chunk 2 of b" in seen.details()

    def test_text_is_found_whatever_its_case(self, tmp_path):
        script = """
          const find = document.getElementById("find");
          find.value = "COURTS"; find.dispatchEvent(new Event("input"));
          find.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
        """
        seen = Seen(view_of(TEXT, a=SlidingWindowChunker(max_tokens=6)).html, tmp_path, script=script)
        assert seen.complaints == []
        assert re.search(r"<output[^>]*>(.*?)</output>", seen.dom)[1] == "1 of 2 found"
        assert "Courts" in "".join(text for kind, _, text in seen.pieces() if "current" in kind)

    def test_pages_show_the_boxes_of_blocks_in_the_colors_of_their_chunks(self, tmp_path):
        places = (Place(1, (10, 10, 90, 40)),), (Place(2, (10, 10, 90, 40)),)
        blocks = tuple(
            Block("paragraph", Span(*span), places=own) for span, own in zip(((0, 10), (12, 22)), places, strict=True)
        )
        explained = explanation("Cats purr.\n\nDogs bark.", [(0, 12)], [(12, 22)], blocks=blocks)
        seen = Seen(View(explained).html, tmp_path, script="document.getElementById('layout').click();")
        assert seen.complaints == []
        boxes = re.findall(r'<button class="box" data-chunk="(\d)"[^>]*>(.*?)</button>', seen.dom)
        assert boxes == [("0", "Cats purr."), ("1", "Dogs bark.")]
        assert re.findall("<figcaption>(.*?)</figcaption>", seen.dom) == ["page 1", "page 2"]

    def test_blocks_are_drawn_as_what_they_are(self, tmp_path):
        text = (
            "# Tea #\n\nGreen tea\nis good.\n\n- one\n  - two\n\n| Tea | 1 \\| 2 |\n|---|---|\n| green | 😀 |\n\n"
            "***\n\n```\nx = 1\n\ny\n```\n"
        )
        page = View(RecursiveChunker(max_tokens=12).explain(Document(text, "a.md"))).html
        script = """
          for (const batch of document.querySelectorAll(".batch")) batch.style.contentVisibility = "visible";
          const shown = (name) => [...document.querySelectorAll(`.text ${name}`)].map((node) => node.innerText);
          const table = [...document.querySelectorAll(".text tr")].map((row) => [...row.cells].map((cell) => cell.innerText));
          const gaps = document.querySelector(".gap").getClientRects().length;
          document.body.append(JSON.stringify([shown("[role=heading]"), shown(".paragraph"), shown(".item"), shown(".code"), table, gaps]));
        """
        seen = Seen(page, tmp_path, script=script)
        assert seen.complaints == []
        shown = json.loads(unescape(re.search(r"(\[\[.*\])\s*</body>", seen.dom)[1]))
        assert shown == [
            ["Tea"], ["Green tea\nis good."], ["- one", "  - two"], ["```\nx = 1\n\ny\n```"],
            [["Tea", r"1 \| 2"], ["green", "😀"]], 0,
        ]  # fmt: skip
        pieces = [text for *_, text in seen.pieces()]
        assert "".join(pieces) in text

    def test_documents_are_chosen(self, tmp_path):
        explained = [RecursiveChunker().explain(Document(f"Text {name}.", name)) for name in "abc"]
        script = """
          const choice = document.querySelector("select");
          choice.value = 2; choice.dispatchEvent(new Event("change"));
        """
        seen = Seen(View(explained).html, tmp_path, script=script)
        assert [text for *_, text in seen.pieces()] == ["Text c."]

    @pytest.mark.parametrize("method", ["semantic-threshold", "c99", "mst-semantic", "optimal-semantic"])
    def test_methods_with_and_without_scores_are_drawn(self, method, tmp_path):
        explained = create(method, experimental=True, max_tokens=20, min_tokens=0).explain(TEXT * 10)
        seen = Seen(View(explained).html, tmp_path)
        assert (seen.complaints, seen.asked) == ([], set())
        assert sorted({chunk for _, chunk, _ in seen.pieces()}) == list(range(len(explained.chunks)))

    def test_passages_are_marked_where_they_are(self, tmp_path):
        explained = RecursiveChunker(max_tokens=12).explain(Document(GUIDE, "tea.md"))
        page = View({"a": explained, "b": explained}, question=f"{WAIT} Cats?", budget=13).html
        seen = Seen(page, tmp_path)
        assert (seen.complaints, seen.asked) == ([], set())
        marks = re.findall('<mark data-place="(.)">(.*?)</mark>', seen.dom, re.DOTALL)
        for place, passage in enumerate(passages_of(page)):  # which has a mark in each block
            own = "".join(text for number, text in marks if number == str(place))
            assert unescape(re.sub("<[^>]*>", "", own)) == passage
        first = re.search('<section class="column passages">.*?</section>', seen.dom, re.DOTALL)[0]
        text = re.search('<div class="text".*?>(.*)</div>', first, re.DOTALL)[1]
        assert unescape(re.sub("<[^>]*>", "", text)) == GUIDE
        assert re.search(r'<span[^>]*title="score [\d.]+"[^>]*>Wait two minutes &amp; a bit\.', first)
        assert len(re.findall(r">0 of \d+ boundaries", seen.dom)) == 2  # passages are no method

    def test_an_entry_of_the_list_goes_to_its_passage_and_names_the_chunks(self, tmp_path):
        documents = [Document("Dogs wait.", "a.md"), Document(GUIDE, "b.md")]
        page = View({"a": list(map(RecursiveChunker().explain, documents))}, question=WAIT, budget=99).html
        assert 'class="current">' in re.search("<ol.*?</button>", Seen(page, tmp_path).dom, re.DOTALL)[0]  # the best
        script = """
          for (const place of [1, 0]) document.querySelector(`#passages [data-document="${place}"]`).click();
          document.body.append(document.querySelector("select").selectedOptions[0].textContent);
        """
        seen = Seen(page, tmp_path, script=script)
        assert seen.complaints == []
        assert re.search(r"a\.md\s*</body>", seen.dom)
        assert re.findall('<button[^>]*class="current"[^>]*>(....)', seen.dom) == ["a.md"]
        assert "in a chunk 0" in seen.details()

    def test_a_click_on_the_curve_goes_there(self, tmp_path):
        explained = RecursiveChunker(max_tokens=12).explain(Document(GUIDE, "tea.md"))
        script = f"""
          const curve = document.querySelector(".curve"), {{ left, width }} = curve.getBoundingClientRect();
          document.querySelector(".piece.current").click();
          curve.dispatchEvent(new MouseEvent("click", {{ clientX: left + width * {(GUIDE.index("minutes") + 1) / len(GUIDE)} }}));
        """
        seen = Seen(View(explained, question=WAIT, budget=9).html, tmp_path, script=script)
        assert seen.complaints == []
        assert "Passage 1" in seen.details()
