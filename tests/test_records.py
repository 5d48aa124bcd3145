"""Records: spans searched by offset, parts of units, and metadata, in which the user's keys are left alone."""

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advchunk import ConfigurationError, Document
from advchunk.records import (
    Chunk,
    Span,
    SpanSet,
    Strength,
    Units,
    evolve,
    remove_written,
    write_metadata,
    written_keys,
    written_metadata,
)

names = st.sampled_from(["level", "section", "advchunk_level", "advchunk_advchunk_level", "advchunk_keys", "k"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("level section"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
own_names = st.sampled_from(["level", "section", "token_count"])
own_values = st.dictionaries(own_names, json_values, min_size=1)


def is_no_list(metadata):
    return not written_keys(metadata)


@example(edges=[0, 2], offset=2)
@given(st.lists(st.integers(0, 60), max_size=12, unique=True).map(sorted), st.integers(-1, 61))
def test_a_span_set_contains_the_offsets_in_its_spans(edges, offset):
    spans = [Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    assert (offset in SpanSet(spans)) == any(start <= offset < end for start, end in spans)


def test_a_part_of_units_keeps_sizes_and_strengths():
    strength = np.array([1, Strength.HARD_BREAK, 0, Strength.KEEP_WITH_NEXT, 1])
    part = Units("aabbccdd", np.arange(0, 9, 2), np.array([1, 2, 3, 4]), strength).part(1, 3)
    assert (part.text, part.edges.tolist(), part.token_counts().tolist()) == ("bbcc", [0, 2, 4], [2, 3])
    assert part.strength.tolist() == [Strength.HARD_BREAK, 0, Strength.KEEP_WITH_NEXT]
    assert part.hard_breaks().tolist() == [0]


@given(st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted))
def test_a_chunk_reaches_from_its_first_span_to_its_last(edges):
    text = "".join(map(chr, range(64, 125)))
    spans = tuple(Span(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False))
    passages = [text[start:end] for start, end in spans]
    chunk = Chunk("".join(passages), spans, 1)
    assert (chunk.start, chunk.end, chunk.passages) == (edges[0], spans[-1].end, passages)
    assert chunk.middle == pytest.approx(np.mean([i + 0.5 for span in spans for i in range(*span)]))
    assert chunk.spans_in(text) == spans
    assert chunk.spans_in(f"<{text}") == ()


def test_a_document_without_an_id_is_named_by_the_source_in_its_metadata():
    assert Document("Tea.", metadata={"source": "tea.md"}).source == "tea.md"
    assert Document("Tea.", "a", metadata={"source": "tea.md"}).source == "a"


def test_units_are_alike_by_default():
    assert Units("abc", np.array([0, 1, 3])).strength.tolist() == [Strength.SENTENCE] * 3


@given(st.dictionaries(names, json_values).filter(is_no_list), own_values, own_values)
def test_the_users_values_and_ours_are_both_kept(users, first, second):
    before = json.dumps(users)
    written = write_metadata(users, first)
    assert {**written, **users} == written
    assert written_metadata(written) == first
    again = write_metadata(written, second)
    assert written_metadata(again) == first | second
    assert remove_written(again, first | second) == users
    assert written_metadata(remove_written(again, second)) == {k: first[k] for k in first.keys() - second}
    kept = remove_written(again, [*users, *first])
    assert {**kept, **users} == kept
    assert json.dumps(users) == before


def test_values_are_copied_deeply():
    users, values = {"tags": [{"a": []}], "at": (1, [2])}, {"boxes": [[1]]}
    written = write_metadata(users, values)
    for metadata in (users, values):
        for key, value in metadata.items():
            assert written[key] == value
            assert written[key] is not value
    assert written["tags"][0]["a"] is not users["tags"][0]["a"]


def test_a_list_that_a_store_returns_with_other_keys_or_without_some_is_still_known():
    written = write_metadata({"source": "s"}, {"level": 0, "token_count": 9})
    kept = {key: written[key] for key in written if key != "level"} | {"_distance": 0.5}
    assert remove_written(kept, written_keys(kept)) == {"source": "s", "_distance": 0.5}
    assert written_keys({**dict.fromkeys(written), "source": "s"}) == {}  # as tables fill their columns


def test_metadata_that_cannot_be_copied_or_written_is_refused():
    loop = []
    loop.append({"a": (loop,)})
    for value in (loop, -(10**5000), json.loads("[" * 201 + "]" * 201)):
        with pytest.raises(ConfigurationError, match="metadata must"):
            Document("Tea.", metadata={"a": [value]})
    Document("Tea.", metadata={"a": json.loads("[" * 150 + "]" * 150), "b": 10**3000})


def test_keys_with_white_space_are_refused():
    with pytest.raises(ConfigurationError, match="must be strings without white space, got 'my key'"):
        write_metadata({}, {"my key": 1})


class Marked(Chunk):
    """A chunk of a subclass."""


def test_a_record_evolves_as_dataclasses_replace_it():
    chunk = Chunk("a", (Span(0, 1),), 1, 3, "id", metadata={"a": 1}, vector=np.ones(2))
    of_chunk, of_units = {"index": 7, "metadata": {"b": 2}, "row_texts": ("a",)}, {"sizes": np.array([1])}
    units = Units("a", np.array([0, 1]))
    for record, changes in ((chunk, of_chunk), (Marked("b", (), 1), of_chunk), (units, of_units)):
        evolved, replaced = evolve(record, **changes), replace(record, **changes)
        assert type(evolved) is type(replaced)
        for field in fields(record):
            assert getattr(evolved, field.name) is getattr(replaced, field.name)
        with pytest.raises(FrozenInstanceError):
            setattr(evolved, fields(record)[0].name, 8)


def test_a_chunk_is_copied_with_its_class_and_all_of_its_values():
    for chunk in (Chunk("a", (Span(0, 1),), 1, 3, "id", metadata={"a": 1}), Marked("b", (), 1)):
        for again in (copy.copy(chunk), copy.deepcopy(chunk), pickle.loads(pickle.dumps(chunk))):
            assert type(again) is type(chunk)
            assert again == chunk
