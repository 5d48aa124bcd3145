"""XML that may be hostile: what is read, what is refused, and that every refusal names the place."""

import re
import socket
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import advchunk
from advchunk import ConfigurationError
from advchunk.readers.xml import parse_xml

LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10 if i else "ha"}">' for i in range(30))

MANY = " ".join(f"c{i}=''" for i in range(1000))


def nested(depth):
    return "<a>" * depth + "</a>" * depth


HOSTILE = {
    "billion laughs": (f"<!DOCTYPE a [{LAUGHS}]><a>&l29;</a>", "must not define entities, got 'l0', at line 1, "),
    "external entity": (
        '<!DOCTYPE a [\n<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        "must not define entities, got 'x', at line 2, column ",
    ),
    "parameter entity": (
        '<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]><a/>',
        "must not define entities, got 'x', at line 1",
    ),
    "unknown entity": ("<a>\n&laugh;</a>", "unknown entities, got 'laugh', at line 2, column 1"),
    "deep": (nested(10_000), "nested at most 200 levels deep, at line 1, column 601"),
    "truncated": ("<a>\n<b>cut", "well-formed: no element found, at line 2, column 7"),
    "truncated tag": ("<a>\n<b", "well-formed: unclosed token, at line 2, column 1"),
    "mismatched": ("<a>\n</b>", "well-formed: mismatched tag, at line 2, column 3"),
    "empty": ("", "well-formed: no element found, at line 1, column 1"),
    "a zip": ("PK\x03\x04\x14", "well-formed: not well-formed (invalid token), at line 1"),
    "prose": ("\n\nNo XML.", "well-formed: syntax error, at line 3, column 1"),
    "half a character": ("<a>\ud800</a>", "well-formed: not well-formed (invalid token), at line 1, column 4"),
    "many elements": ("<a>" + "<b/>" * 500_000 + "</a>", "at most 500,000 elements and as many attributes, at line 1"),
    "many attributes": (
        "<a>" + f"<b {MANY}/>" * 501 + "</a>",
        "at most 500,000 elements and as many attributes, at line 1",
    ),
    "a long tag": ("<a " + "b" * 2_000_000 + "='1'/>", "an XML tag or comment must be at most 1,048,576 bytes, "
                                                       "at line 1"),
    "a long namespace": (f"<a xmlns='{'u' * 300}'/>", "an XML name must be at most 250 characters"),
    "long": ("<a>" + " " * 50_000_000, "must be at most 50,000,000 characters, got 50000003"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_or_broken_input_is_refused_with_its_place(text, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        parse_xml(text)


def test_nothing_is_fetched(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    named = '<!DOCTYPE a PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/x.dtd"><a>&eacute;</a>'
    assert parse_xml(named).text == "é"


def test_documents_within_the_limits_are_read():
    assert sum(1 for _ in parse_xml(nested(200)).iter()) == 200
    assert len(parse_xml("<a>" + "<b/>" * 499_999 + "</a>")) == 499_999


def test_a_text_is_decoded_already_and_may_follow_white_space():
    text = "\ufeff\n<?xml version='1.0' encoding='utf-16'?>\n<a>é東🦛</a>\n"
    assert parse_xml(text).text == "é東🦛"
    with pytest.raises(ConfigurationError, match="line 3, column 6"):
        parse_xml(text.replace("</a>", "</b>").replace("é東🦛", ""))


def test_names_are_in_clark_notation_and_comments_are_left_out():
    root = parse_xml('<a xmlns="u:1" xmlns:p="u:2" p:k="1" k="2"><!-- c --><?pi?><p:b>x<![CDATA[<y>]]></p:b>z</a>')
    assert (root.tag, root.attrib) == ("{u:1}a", {"{u:2}k": "1", "k": "2"})
    assert [(child.tag, child.text, child.tail) for child in root] == [("{u:2}b", "x<y>", "z")]


def test_no_hostile_text_takes_more_than_half_a_gigabyte():
    code = f"""
import re, sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(advchunk.__file__).parents[1])!r}]
from test_xml import HOSTILE
from advchunk import ConfigurationError
from advchunk.readers.xml import parse_xml
for text, _ in HOSTILE.values():
    try: parse_xml(text)
    except ConfigurationError: pass
# getrusage tells the parent's, too
print(int(re.search("VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]) // 1024)
"""
    message = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(message.stdout) < 500


characters = st.characters(blacklist_categories=["Cc", "Cs"], blacklist_characters="\ufffe\uffff")
trees = st.recursive(
    st.tuples(st.sampled_from("abc"), st.text(characters)),
    lambda inner: st.tuples(st.sampled_from("abc"), st.lists(inner, max_size=4)),
)


def built(tree):
    name, inside = tree
    element = ElementTree.Element(name, {"k": name})
    if isinstance(inside, str):
        element.text = inside
    else:
        element.extend(map(built, inside))
    return element


@given(trees)
def test_the_tree_is_elementtrees_own(tree):
    text = ElementTree.tostring(built(tree), encoding="unicode")
    assert ElementTree.tostring(parse_xml(text)) == ElementTree.tostring(ElementTree.fromstring(text))
