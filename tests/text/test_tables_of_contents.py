"""Entries of a table of contents are not cut at their dots, and each is a unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk.text.sentences import sentences

LEADERS = (" ..... ", ". . . . . ", " …… ", "............", " . . . . .", " . . . ... ")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("Detection", "1.2 Response", "3. Recovery", "A. Lee et al.", "Why? And how", "Ünï")),
            st.sampled_from(LEADERS),
            st.sampled_from(("7", "22", "iv", "12345")),
        ),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(("\n", "\r\n", "\n\n", "  \n")),
)
def test_each_entry_is_a_unit_or_ends_one(entries, end):
    lines = ["".join(entry) for entry in entries]
    text = end.join(["Contents", *lines, ""])
    units = sentences(text).strings()
    assert "".join(units) == text
    ends = {sum(map(len, units[: i + 1])) for i in range(len(units))}
    offset = len("Contents") + len(end)
    for line in lines:
        inner = range(
            offset + 1 + max(line.rfind("l."), 0) + 2, offset + len(line)
        )  # behind "et al.", where a cut is no fault
        leaders = [at for at in inner if text[at - 1] in ".… " and text[at] in ".… 0123456789iv"]
        assert not ends.intersection(at for at in leaders if at > offset + len(line.rstrip("0123456789iv. …")))
        offset += len(line) + len(end)
        assert offset in ends or text[offset:].strip() == ""


@pytest.mark.parametrize(
    "text", ["He waited.... Then he left. ", "It costs 22 .... Then he left.", "He said it ... twice. She is here."]
)
def test_other_dots_decide_as_before(text):
    assert len(sentences(text)) == 2
