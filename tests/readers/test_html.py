"""HTML, as broken as it comes: what is seen is kept, in order, and as the blocks that it is."""

import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from advchunk import ConfigurationError, MissingExtra
from advchunk.building.layout import Headings
from advchunk.readers import html
from advchunk.readers.html import guard
from growing import check_growth, repeated


def read(text, **options):
    document = html.read(text, **options)
    return [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]


def block_texts(text, **options):
    return [text for _, _, text in read(text, **options)]


# --- blocks -------------------------------------------------------------------------------------------------------------


DATA = tomllib.loads(Path(__file__).parents[1].joinpath("data", "html.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", DATA["page"], ids=lambda page: page["source"][:40])
def test_blocks(page):
    assert read(page["source"]) == [(*block,) for block in page["blocks"]]
    assert block_texts("a\ud800b") == ["a?b"]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>no</script>",
        "<style>no</style>",
        "<template>no</template>",
        "<noscript>no</noscript>",
        "<p hidden>no</p>",
        "<p style='color: red; DISPLAY : none'>no <b>no</b></p>",
        "<dialog>no</dialog>",
        "<iframe>no</iframe>",
        "<sup hidden>no</sup>",
        "<!-- no -->",
        "<svg><title>no</title></svg>",
        "<video>no</video>",
    ],
)
def test_hidden_elements_are_not_read(hidden):
    assert block_texts(f"<p>a</p>{hidden}<p>b</p>") == ["a", "b"]
    assert block_texts("<p hidden='until-found'>a<dialog open>b</dialog>") == ["a", "b"]


# --- tables -------------------------------------------------------------------------------------------------------------


def test_xhtml_may_close_any_element_at_once():
    head = (
        '<head><title>Tea</title><script src="a.js" type="text/javascript"/><meta name="date" content="2020"/></head>'
    )
    body = '<body><a id="p1"/><h1>Tea</h1><p>one<br/>two</p><textarea/><p>three</p></body>'
    for start in ('<?xml version="1.0"?>\n<html>', '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">'):
        assert block_texts(f"{start}{head}{body}</html>") == ["Tea", "one\ntwo", "three"]
    assert block_texts(f"<html>{head}{body}</html>") == []  # as browsers have it


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<pre>a  b</pre>", "a b"),
        ("<h3>a</h3>b", "a b"),
        ("<table><tr><td>a<td>b|c<tr><td>d<td>e</table>", "a, b\\|c; d, e"),
        ("<ul><li>a<li>b</ul>", "- a - b"),
    ],
)
@pytest.mark.parametrize("tag", ["td", "th"])
def test_a_table_of_data_may_hold_anything_in_a_cell(content, text, tag):
    page = f"<table><tr><{tag}>leaf<{tag}>n<tr><td>tea<td>7<tr><td>{content}</td><td>8</table><p>End."
    (kind, _, table), end = read(page)
    assert (kind, table.splitlines()[-1], end) == ("table", f"| {text} | 8 |", ("paragraph", 0, "End."))


# --- furniture ----------------------------------------------------------------------------------------------------------

SITE = """<body><header><a>Site</a><nav>Home</nav></header><div role=navigation>Menu</div><main><article>
    <header><h1>Tea</h1><p>By A</header><aside>Note</aside><footer>Signed</footer></article></main>
    <aside>More<h2>Ads</h2></aside><footer>Imprint</footer>"""


def test_furniture_is_what_the_page_not_its_articles_say_it_is():
    content = [("heading", 1, "Tea"), ("paragraph", 0, "By A"), ("paragraph", 0, "Note"), ("paragraph", 0, "Signed")]
    assert read(SITE) == content
    kept = read(SITE, furniture="keep")
    assert [block for block in kept if block[0] != "furniture"] == content
    assert [text for kind, _, text in kept if kind == "furniture"] == ["Site", "Home", "Menu", "More", "Ads", "Imprint"]


def test_pages_of_furniture_alone_are_read():
    assert read("<ul><li><nav>Home</nav></ul>") == [("furniture", 0, "Home")]
    with pytest.raises(ConfigurationError, match='furniture must be "drop" or "keep"'):
        html.read("", furniture="hide")


# --- what others got wrong
# ----------------------------------------------------------------------------------------------


def test_headings_keep_all_their_parents():
    page = "<div><h1>A</h1><div><div><h2>B</h2></div><p>x</p></div></div><section><h3>C</h3><div><p>y</div><h2>D</h2>z"
    document = html.read(page)
    headings = Headings(document.text, document.blocks)
    paths = {letter: headings.path(document.text.index(letter)) for letter in "xyz"}
    assert paths == {"x": ("A", "B"), "y": ("A", "B", "C"), "z": ("A", "D")}


def test_order_is_that_of_the_page():
    page = "a<table><tr><td>b<td>c</table>d<ul><li>e<table><tr><td>f<td>g</table>h</ul><pre>i</pre>j"
    assert "".join(letter for letter in html.read(page).text if letter.isalpha()) == "abcdefghij"


def test_no_mark_of_ours_clashes_with_the_text():
    words = "PRESERVED_0 __TABLE_0__ {0} %s \\1 <b-plain> b-plain"
    page = f"<p>{words.replace('<', '&lt;')}<table><tr><td>{words.replace('<', '&lt;')}<td>x</table>"
    assert [text.count("PRESERVED_0 __TABLE_0__ {0} %s \\1") for text in block_texts(page)] == [1, 1]


def test_a_title_is_context_once():
    document = html.read("<title>Tea</title><h1>Tea</h1><h2>Tea leaves</h2><p>Green.")
    assert document.metadata["title"] == "Tea"
    assert Headings(document.text, document.blocks).path(len(document.text)) == ("Tea leaves",)
    assert document.text.startswith("Tea\n\n")


# --- metadata -----------------------------------------------------------------------------------------------------------


def test_metadata_is_what_the_page_says_of_itself():
    page = """<html lang=en-GB><title>Tea | Site</title><meta property=og:title content="Tea &amp; <b>co</b>">
        <meta name=Author content="A. Li"><meta name=author content="B. Ray"><meta property=article:author content=http://x>
        <meta name=description content=" All of  it. "><meta property=article:published_time content=2020-6-1T10:00Z>
        <link rel=canonical href=https://example.org/tea><meta name=keywords content="tea, cup"><meta name=x>
        <meta name=citation_doi content=10.1/x><meta name=citation_journal_title content=Leaves><p>Tea."""
    assert html.read(page).metadata == {
        "title": "Tea & <b>co</b>",
        "authors": "A. Li; B. Ray",
        "description": "All of it.",
        "keywords": "tea, cup",
        "published_at": "2020-06-01",
        "journal": "Leaves",
        "doi": "10.1/x",
        "language": "en-GB",
        "url": "https://example.org/tea",
    }
    document = html.read("<title>A</title>x", id="i", metadata={"title": "B", "n": 1})
    assert (document.id, document.metadata) == ("i", {"title": "B", "n": 1})
    assert html.read("<title>Tea <b> cup</title><svg><title>no</title></svg>").metadata == {"title": "Tea <b> cup"}


def test_the_parser_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(MissingExtra, match=r"advchunk\[html\]"):
        html.read("x")


# --- hostile pages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tag", ["div", "span", "b", "ul><li", "table><tr><td", "blockquote", "dl><dt", "header", "sup"]
)
def test_depth_does_not_matter(tag):
    end = "".join(f"</{name}>" for name in reversed(tag.split("><")))
    text = html.read(f"<{tag}>" * 5_000 + "in" + end * 5_000 + "out", furniture="keep").text
    assert "".join(filter(str.isalpha, text)) == "inout"


@pytest.mark.parametrize(
    "token",
    [
        "<",
        "<p>",
        "</p>",
        "<a ",
        "<b>a",
        "<li>a",
        "<table><tr><td>a",
        "<td>a",
        "<!--",
        "<pre>",
        "&amp;",
        "<h1>a",
        "<dt>a",
    ],
)
def test_repeated_tags_take_linear_time(token):
    check_growth(html.read, repeated(token), 20_000)


def test_an_element_with_too_many_attributes_is_refused():
    with pytest.raises(ConfigurationError, match="at most 10,000 attributes, got 10002"):
        html.read("<p " + " ".join(f"a{i}" for i in range(10_001)) + ">")


@pytest.mark.parametrize("tags", ["<div>", "<span></div><div></span>", "<div><table><tr><td></div>", "<table><tr><td>"])
def test_elements_nested_too_deep_lose_their_tags(tags):
    safe = guard.make_safe(f"{tags}x" * 2_000)
    node, depth = LexborHTMLParser(safe).css_first("body"), 0
    while (node := node.last_child) is not None:
        depth += 1
    assert depth <= 4 * guard.MAX_HTML_DEPTH + 1  # rows and cells are not counted
    assert safe.count("x") == 2_000


def test_elements_left_open_in_blocks_do_not_add_up():
    page = "".join(f"<h2>{i}</h2><div><span>a<!-- <div> --></div><ul><li>b<li>c</ul>" for i in range(600))
    assert guard.make_safe(page) == page


def test_formatting_left_open_is_not_opened_in_every_block():
    page = "".join(f"<p><font id={i}>x" for i in range(500))
    assert len(html.read(page).blocks) == 500
    assert sum(1 for _ in LexborHTMLParser(page).root.traverse()) > 100_000
    assert sum(1 for _ in LexborHTMLParser(guard.make_safe(page)).root.traverse()) < 2_000


@pytest.mark.parametrize(
    "page",
    [
        "<table>" + "<tr><td colspan=1000 rowspan=65534>cup<td>tea" * 500 + "</table>",
        "<table><tr>" + "<td rowspan=65534>cup" * 2_000 + "<tr><td>tea" * 2_000 + "</table>",
        "<table><tr>" + "<td>cup" * 5_000 + "<tr><td>tea<td>tea" * 5_000 + "</table>",
        "<table><tr><td rowspan=65534>" + "cup " * 50_000 + "<td>" + "<tr><td>tea" * 5_000 + "</table>",
    ],
)
def test_tables_grow_no_longer_than_a_few_times_the_page(page):
    text = html.read(page).text
    assert text.count("tea") >= page.count("tea")
    assert text.count("cup") >= page.count("cup")
    assert len(text) < 200_000 + 20 * len(page)


# --- any text -----------------------------------------------------------------------------------------------------------

UNSEEN = html._INVISIBLE | {"dialog"}
NAMES = """a article aside b blockquote br button caption center dd div dl dt em figcaption figure font footer form h1 h2 header
    hr i iframe img input li main math mi nav noscript ol option p pre script section select span style sub sup svg table
    tbody td template textarea th thead title tr ul""".split()  # noqa: SIM905
TAGS = st.sampled_from(
    [*(f"<{name}>" for name in NAMES), *(f"</{name}>" for name in NAMES), "<p hidden>", "<!--", "-->"]
)
ODD = re.compile("<[a-z]+<p hidden")  # an element named "a<p" stays open where a link would be closed by the next one
PAGES = (
    st.lists(TAGS | st.text("abcde <&\n", max_size=5), max_size=40)
    .map("".join)
    .filter(lambda page: not ODD.search(page))
)


def visible(page):
    """Return the text that the parser finds where nothing is hidden."""
    words_seen, stack = [], [(LexborHTMLParser(page).root, UNSEEN)]
    while stack:
        node, unseen = stack.pop()
        if node.tag == "-text":
            words_seen.append(node.text_content)
        elif node.tag not in unseen and "hidden" not in node.attributes:
            child = node.first_child
            while child is not None:
                stack.append((child, {"script", "style"} if node.tag == "math" else unseen))
                child = child.next
    return "".join(words_seen)


@settings(max_examples=500)
@given(PAGES)
@example("<math><script>a")
@example("<math><iframe><i>a")
@example("<math><i></i>a")
@example("<svg><tr>a<td>b</svg><table><tr><td><svg><td>c")
@example("<select><table><tr><td>a<option>b")
@example("<table><tr><td><dl><dt>a</table>b")
def test_all_that_is_seen_is_kept(page):
    document = html.read(page, furniture="keep")
    assert Counter(filter(str.isalpha, document.text)) == Counter(filter(str.isalpha, visible(page)))


@settings(max_examples=300)
@given(st.text() | PAGES, st.sampled_from(["drop", "keep"]))
def test_any_text_is_read_and_covered_by_blocks(page, furniture):
    document = html.read(page, furniture=furniture)
    assert "\n\n".join(document.text[slice(*block.span)] for block in document.blocks) == document.text
    assert all(document.text[slice(*block.span)].strip() for block in document.blocks)


@settings(max_examples=200)
@given(st.text(st.characters(exclude_characters="<&", exclude_categories=["Cc", "Cs"])))
def test_plain_text_stays_as_it_is(text):
    assert html.read(text).text.split() == text.replace("\u00ad", "").split()


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        ("<p>See <a href='https://x.org/a'>the <b>page</b></a>.", ["See [the page](https://x.org/a)."]),
        ("<a href='a b'>c</a> <a href='#top'>up</a> <a name=n>d</a> <a href=e> </a>", ["[c](<a b>) up d"]),
        ("<h2><a href=x>A</a></h2><pre><a href=x>b</a></pre>", ["A", "b"]),
        ("<a href=x><img alt=Tea></a>", ["[ Tea ](x)"]),
        ("<a href=x><div>a</div><div>b</div></a>c", ["a", "b", "<x> c"]),
        ("<ul><li><a href=x>a</a></ul>", ["- [a](x)"]),
        ("<table><tr><th>a<th>b<tr><td><a href=x>c</a><td>d</table>", ["| a | b |\n| --- | --- |\n| [c](x) | d |"]),
    ],
)
def test_links_may_keep_their_targets(page, texts):
    assert block_texts(page, links=True) == texts
    assert "(x)" not in "".join(block_texts(page))


@pytest.mark.parametrize(
    "banner",
    [
        '<div id="onetrust-consent-sdk"><div><h2>Cookies</h2><p>We use them.</p><button>Accept</button></div></div>',
        '<section><div class="big cookie-banner">We use them.</div></section>',
        '<article><aside id="CookieConsent">We use them.</aside></article>',
        "<form class=gdpr-cookie-notice>We use them.</form>",
        "<div class=cc-window><table><tr><th>a<th>b<tr><td>We use them.<td>2</table></div>",
    ],
)
def test_a_banner_for_consent_is_furniture(banner):
    page = f"<h1>Tea</h1><p>Green.</p>{banner}<p>Black.</p>"
    assert html.read(page).text == "Tea\n\nGreen.\n\nBlack."
    assert "We use them." in html.read(page, furniture="keep").text
    assert html.read(banner).text  # nothing else is left


@pytest.mark.parametrize(
    "names", ['class="cookie-recipe"', 'id="cookies"', 'class="banner"', 'class="consent"', 'class="cookie-barn"']
)
def test_what_only_speaks_of_cookies_stays(names):
    assert html.read(f"<p>Tea.</p><div {names}>Bake cookies.</div>").text == "Tea.\n\nBake cookies."
    page = "<body class=cookie-banner><p>Tea.</p><div class=cookie-bar><main>Milk.</main></div>"
    assert html.read(page).text == "Tea.\n\nMilk."


_MENU = "<ul>" + "".join(f"<li><a href='/{i}'>Offers of the week {i}</a></li>" for i in range(12)) + "</ul>"
_PROSE = "".join(
    f"<p>Green tea number {i} is steamed, rolled, and dried on the day on which it is picked.</p>" for i in range(9)
)


def test_the_main_content_of_a_page_is_what_it_is_about():
    pytest.importorskip("trafilatura")
    page = (
        f"<html><body><div>{_MENU}</div><div><h1>Tea</h1>{_PROSE}</div><form><p>Subscribe to our letter of "
        "news</p></form></body></html>"
    )
    everything, main = html.read(page), html.read(page, content="main")
    assert "Offers of the week 3" in everything.text
    assert "Subscribe" in everything.text
    assert main.text.count("Green tea number") == 9
    assert "Offers" not in main.text
    assert "items: 12" in main.metadata["left_out"]
    with pytest.raises(ConfigurationError, match='content must be "all" or "main"'):
        html.read(page, content="article")


def test_main_content_keeps_every_section_of_documentation():
    pytest.importorskip("trafilatura")
    sections = [
        f"<h2>Option {i}</h2><p>Sets {i}.</p><pre>tea --option {i}</pre><table><tr><th>Value "
        f"{i}</th><th>Effect</th></tr>"
        f"<tr><td>hot {i}</td><td>boils</td></tr></table>"
        for i in range(12)
    ]
    body = (
        f"<nav>{_MENU}</nav><main><h1>Manual</h1><p>How to make tea with the program, option by "
        f"option.</p>{''.join(sections)}</main>"
    )
    page = f"<html><body>{body}<footer><p>Made with care</p></footer></body></html>"
    document = html.read(page, content="main")
    assert [document.text[slice(*block.span)] for block in document.blocks] == [
        html.read(page).text[slice(*block.span)] for block in html.read(page).blocks
    ]
