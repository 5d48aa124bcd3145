"""The reader of XML of an unknown kind."""

import logging
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError
from advchunk.readers import generic

BOOK = """<?xml version="1.0"?>
<book xmlns="http://docbook.org/ns/docbook"><title>Tea</title>
<chapter><title>Leaves</title>
  <para>They are <emphasis>green</emphasis>.</para>
  <section><info><title>Sorts</title></info><para>Two:<list><item>white</item><item>black</item></list></para></section>
  <screen xml:space="preserve">  boil
    water</screen>
</chapter></book>"""


def test_titles_are_headings_and_text_paragraphs():
    document = generic.read(BOOK)
    blocks = [(block.kind, block.level, document.text[slice(*block.span)]) for block in document.blocks]
    assert blocks == [
        ("heading", 1, "Tea"),
        ("heading", 2, "Leaves"),
        ("paragraph", 0, "They are green."),
        ("heading", 3, "Sorts"),
        ("paragraph", 0, "Two:"),
        ("paragraph", 0, "white"),
        ("paragraph", 0, "black"),
        ("code", 0, "  boil\n    water"),
    ]
    assert document.markup == "xml"


def test_html_in_a_feed_is_read_as_html():
    text = "<item><title>Pier</title><description>{}</description><code>&lt;b&gt;</code></item>"
    html = "<p>It is <b>closed</b> &amp; wet.</p><ul><li>Dogs swim.</li></ul>"
    for own in (f"<![CDATA[{html}]]>", html.replace("&", "&amp;").replace("<", "&lt;")):
        assert generic.read(text.format(own)).text == "Pier\n\nIt is closed & wet.\n\n- Dogs swim.\n\n<b>"
    assert "1 &lt; 2" in generic.read(text.format("1 &amp;lt; 2").replace("description", "para")).text


def test_an_unknown_kind_is_logged(caplog):
    with caplog.at_level(logging.WARNING, "advchunk"):
        generic.read("<note>Tea</note>", id="a.xml")
    assert caplog.messages == ["a.xml: <note> is XML of an unknown kind; its text is read as paragraphs"]


elements = st.recursive(
    st.sampled_from(["Tea", "<b>is</b>", " ", "\n", "<br/>", "<title>A</title>"]),
    lambda parts: st.tuples(st.sampled_from(["p", "sec", "title", "b"]), st.lists(parts, max_size=4)).map(
        lambda pair: f"<{pair[0]}>{''.join(pair[1])}</{pair[0]}>"
    ),
    max_leaves=15,
)


@given(elements)
def test_no_text_is_lost(text):
    xml = f"<a>{text}</a>"
    letters = "".join("".join(ElementTree.fromstring(xml).itertext()).split())
    assert "".join(generic.read(xml).text.split()) == letters


def test_malformed_xml_is_refused():
    with pytest.raises(ConfigurationError, match="XML must be well-formed: mismatched tag, at line 1"):
        generic.read("<a><b></a>")
