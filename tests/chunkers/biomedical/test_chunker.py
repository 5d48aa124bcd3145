"""Biomedical abstracts: each step of the strategy, on small abstracts."""

import re
from uuid import UUID, uuid5

import pytest

import langchain_advchunk
import llamaindex_advchunk
from advchunk import ConfigurationError, Document
from advchunk.chunkers.biomedical.chunker import BiomedicalAbstractChunker
from advchunk.chunkers.biomedical.params import NAMESPACE
from advchunk.chunkers.biomedical.quantities import quantity_spans
from advchunk.chunkers.biomedical.settings import BOOSTS, boost, boosts, chunker_settings
from advchunk.models.counters import as_counter
from advchunk.readers.pubmed import reader as abstracts
from advchunk.readers.pubmed import records as pubmed
from advchunk.text import tiling


def sentence(words, first="Word"):
    return " ".join([first, *["word"] * (words - 1)]) + "."


def section(label, *lengths):
    """Return a section of sentences with these numbers of words; its label is one more."""
    return f"{label}: " + " ".join(map(sentence, lengths)) + "\n"


def chunker(**params):
    return BiomedicalAbstractChunker(tokenizer="words", include_context=False, **params)


def sections(chunks):
    return [chunk.metadata["section"] for chunk in chunks]


SIZES = {"max_tokens": 100, "min_tokens": 30, "target_tokens": 70, "overlap_tokens": 10, "short_tokens": 0}


# Steps 1 and 2 are the reader's: see tests/readers/pubmed/test_pubmed.py.


def test_spans_index_the_normalized_text_and_source_spans_the_original():
    raw = "RESULTS:   Loss of ﬁbrin was\n12% (p&lt;0.05)."
    (chunk,) = BiomedicalAbstractChunker().chunk(raw)
    assert chunk.text == "RESULTS: Loss of fibrin was 12% (p<0.05)."
    assert chunk.spans == ((0, len(chunk.text)),)
    assert chunk.source_spans == ((0, len(raw)),)
    (as_it_is,) = BiomedicalAbstractChunker(normalize=False).chunk(raw)
    assert (as_it_is.text, as_it_is.source_spans) == (raw, ())


# Step 3: sections.


def test_each_section_is_a_chunk():
    text = section("Background", 40) + section("Methods", 50) + section("Results", 60) + section("Conclusions", 35)
    chunks = chunker(**SIZES).chunk(text)
    assert sections(chunks) == ["Background", "Methods", "Results", "Conclusions"]
    assert [chunk.text.split(":")[0] for chunk in chunks] == sections(chunks)


def test_small_neighbors_merge():
    text = section("Aim", 10) + section("Methods", 15) + section("Results", 60) + section("Conclusions", 35)
    chunks = chunker(**SIZES).chunk(text)
    assert sections(chunks) == ["Objective, Methods, Results", "Conclusions"]  # 27 words are still too few
    chunks = chunker(**SIZES | {"min_tokens": 20}).chunk(text)
    assert sections(chunks) == ["Objective, Methods", "Results", "Conclusions"]


def test_results_and_conclusions_stay_together_when_short():
    text = section("Methods", 40) + section("Results", 33) + section("Conclusions", 35)
    assert sections(chunker(**SIZES).chunk(text)) == ["Methods", "Results, Conclusions"]
    longer = text.replace("Conclusions: Word", "Conclusions: Word word")  # 71 words, over the target
    assert sections(chunker(**SIZES).chunk(longer)) == ["Methods", "Results", "Conclusions"]


def test_a_long_section_is_cut_between_sentences_with_overlap():
    text = section("Methods", 40) + section("Results", *[10] * 14)
    chunks = chunker(**SIZES).chunk(text)
    assert sections(chunks) == ["Methods", "Results", "Results"]
    assert [chunk.tokens for chunk in chunks] == [41, 71, 80]  # 70 of its own, and 10 of the window before
    assert chunks[1].end - chunks[2].start == len(sentence(10)) + 1
    assert chunks[1].start == chunks[0].end  # no overlap over sections
    apart = chunker(**SIZES | {"overlap_tokens": 0}).chunk(text)
    assert "".join(chunk.text for chunk in apart) == text.strip()


def test_an_unstructured_abstract_is_one_chunk_if_it_fits():
    words = " ".join(map(sentence, [10] * 45))
    assert [chunk.metadata["section"] for chunk in chunker().chunk(words)] == ["Unstructured"]
    chunks = chunker().chunk(words + " " + sentence(10))
    assert [chunk.tokens for chunk in chunks] == [250, 260]  # 460 words: 210 of its own and 50 again
    assert [chunk.metadata["chunk_id"] for chunk in chunks] == ["w0", "w1"]


# Step 4: context.


def test_context_has_sections_and_title_and_counts():
    text = section("Background", 40) + section("Results", 45)
    document = Document(text, metadata={"title": "A trial", "pmid": "7"})
    first, second = BiomedicalAbstractChunker(tokenizer="words", **SIZES).chunk(document)
    assert first.context == "[Title] A trial (pmid:7)\n[Section] Background\n[Text]"
    assert second.context == "[Section] Results\n[Text]"
    for chunk in (first, second):
        assert chunk.tokens == as_counter("words")(chunk.embed_text)
    assert (first.tokens, second.tokens) == (41 + 7, 46 + 3)


def test_context_takes_no_more_than_half_of_a_chunk():
    document = Document(section("Results", 30), metadata={"title": "word " * 60})
    (chunk,) = BiomedicalAbstractChunker(tokenizer="words", **SIZES).chunk(document)
    assert chunk.context == "[Section] Results\n[Text]"
    assert BiomedicalAbstractChunker(tokenizer="words", max_tokens=2, overlap_tokens=0).chunk(document)[0].context == ""


# Step 5: metadata and ids.


def test_metadata_and_ids():
    text = section("Background", 20, 20) + section("Results", 20, 15)
    about = {"title": "A trial", "pmid": "12345678", "published_at": "2021-03-05", "lab": "x"}
    first, second = BiomedicalAbstractChunker(tokenizer="words", **SIZES).chunk(Document(text, metadata=about))
    assert {key: second.metadata[key] for key in second.metadata if key not in {"title_path", "advchunk_keys"}} == {
        **about,
        "chunk_id": "s1",
        "uuid": str(uuid5(UUID(NAMESPACE), "pubmed:12345678:s1")),
        "parent_uid": "pubmed:12345678",
        "source": "pubmed",
        "chunk_idx": 1,
        "section": "Results",
        "tokens": second.tokens,
        "n_sentences": 2,
        "chunker_version": "v1.2.0",
    }
    assert first.metadata["chunk_id"] == "s0"


def test_the_parent_is_named_after_the_document():
    def parent(**params):
        return BiomedicalAbstractChunker().chunk(Document("Word.", **params))[0].metadata["parent_uid"]

    assert parent(id="x", metadata={"pmid": 3, "parent_uid": "own"}) == "own"
    assert parent(id="x", metadata={"pmid": 3}) == "pubmed:3"
    assert parent(id="x", metadata={"source": "pubmed"}) == "x"


def test_documents_without_an_id_have_distinct_ids():
    texts = ["AIM: To see.", "AIM: To hear.", "AIM: To see."]
    nameless = [Document(text, metadata={"source": "pubmed"}) for text in texts]
    nameless += [Document("", metadata={"title": title, "source": "pubmed"}) for title in "ab"]
    chunks = BiomedicalAbstractChunker().chunk_many(nameless)
    first, second, again, *blank = (chunk.metadata["uuid"] for (chunk,) in chunks)
    assert first == again
    assert len({first, second, *blank}) == 4


def test_namespace_and_version_are_parameters():
    space = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    (chunk,) = BiomedicalAbstractChunker(namespace=space, chunker_version="v2").chunk(Document("Word.", "x"))
    assert chunk.metadata["uuid"] == str(uuid5(UUID(space), "x:w0"))
    assert chunk.metadata["chunker_version"] == "v2"


# Step 6: numbers.

STATISTIC, COMPARATOR = "Weight fell by 12.4% (p<0.001).", "This was more than on placebo."


def test_a_statistic_stays_with_its_comparator():
    filler = [sentence(10)] * 7
    for before in range(2, 7):
        text = " ".join([*filler[:before], STATISTIC, COMPARATOR, *filler[before:], *filler])
        chunks = chunker(**SIZES | {"overlap_tokens": 0}).chunk(text)
        assert any(STATISTIC in chunk.text and COMPARATOR in chunk.text for chunk in chunks)


def test_a_window_grows_for_a_claim_by_at_most_15_percent_of_the_target():
    def cut(words):
        """Return the tokens of windows where the claim ends so many words after the start."""
        text = " ".join([*[sentence(10)] * 3, sentence(words - 41), STATISTIC, COMPARATOR, sentence(70)])
        return chunker(**SIZES | {"overlap_tokens": 0, "min_tokens": 25}).chunk(text)

    grown = cut(80)
    assert [chunk.tokens for chunk in grown] == [80, 70]
    assert COMPARATOR in grown[0].text
    assert [chunk.tokens for chunk in cut(81)] == [30, 51, 70]


@pytest.mark.parametrize("splitter", [None, "plain", tiling.words, tiling.clauses])
def test_quantities_are_never_cut(splitter):
    quantities = (
        "1.5 mg/kg",
        "p = 0.03",
        "(95% CI, 0.5 to 0.9; n = 30. In all, 2 died)",
        "12.4% vs 2.1%",
        "3.1 ± 0.4 kg",
        "4.1 kg (see the table)",
        "(n = 30 (15 men. Or so) in all)",
    )
    text = " ".join(f"We gave {quantity} then, and it was so. Fine." for quantity in quantities * 4)
    chunks = chunker(sentence_splitter=splitter, max_tokens=22, min_tokens=0, overlap_tokens=5).chunk(text)
    assert len(chunks) > 10
    edges = {edge for chunk in chunks for edge in chunk.spans[0]}
    whole = [match.span() for quantity in quantities for match in re.finditer(re.escape(quantity), text)]
    assert len(whole) == 28
    assert not any(start < edge < end for start, end in [*whole, *quantity_spans(text)] for edge in edges)


def test_a_quantity_over_the_budget_is_cut():
    text = "(1 " + "word " * 50 + ")"
    chunks = chunker(max_tokens=14, min_tokens=0, overlap_tokens=5).chunk(text)
    assert all(chunk.tokens <= 14 for chunk in chunks)


# Step 7: the title.


def test_the_title_may_have_a_chunk_of_its_own():
    text = section("Background", 40) + section("Results", 45)
    document = Document(text, "x", metadata={"title": "A trial"})
    title, first, _ = BiomedicalAbstractChunker(tokenizer="words", title_chunk=True, **SIZES).chunk(document)
    assert (title.text, title.spans, title.context, title.tokens) == ("", (), "[Title] A trial", 3)
    assert (title.metadata["chunk_id"], title.metadata["chunk_idx"]) == ("title", 0)
    assert title.metadata["uuid"] == str(uuid5(UUID(NAMESPACE), "x:title"))
    assert first.context == "[Section] Background\n[Text]"
    assert (first.metadata["chunk_id"], first.metadata["chunk_idx"]) == ("s0", 1)


# Step 8: short abstracts, and none.


@pytest.mark.parametrize("title_chunk", [False, True])
def test_a_short_abstract_is_one_chunk_with_its_title(title_chunk):
    about = {"title": "A trial", "mesh": "Obesity; GLP-1 Receptor"}
    params = {"min_tokens": 0, "title_chunk": title_chunk, "mesh": True, "tokenizer": "words"}
    chunker, aim = BiomedicalAbstractChunker(**params), section("Aim", 38)
    (chunk,) = chunker.chunk(Document(aim + section("Results", 39), metadata=about))
    assert chunk.context == "[Title] A trial\n[MeSH] Obesity; GLP-1 Receptor\n[Section] Objective, Results\n[Text]"
    chunks = chunker.chunk(Document(aim + section("Results", 40), metadata=about))
    assert [chunk.text[:3] for chunk in chunks if chunk.text] == ["Aim", "Res"]
    assert "[MeSH]" not in chunks[0].context


def test_an_article_without_abstract_can_be_cited():
    (record,) = pubmed.read_medline("PMID- 7\nTI  - An editorial.\nDP  - 2020\nMH  - Obesity\n")
    (chunk,) = BiomedicalAbstractChunker(mesh=True).chunk(record)
    assert (chunk.text, chunk.spans) == ("", ())
    assert chunk.context == "[Title] An editorial. (pmid:7)\n[MeSH] Obesity"
    assert chunk.tokens == as_counter()(chunk.embed_text)
    assert chunk.metadata["uuid"] == str(uuid5(UUID(NAMESPACE), "pubmed:7:title"))
    assert chunk.metadata["published_at"] == "2020"
    assert BiomedicalAbstractChunker().chunk(Document("", metadata={"title": "T"}))[0].context == "[Title] T"
    assert BiomedicalAbstractChunker().chunk(Document(" \n")) == []
    assert BiomedicalAbstractChunker(include_context=False).chunk(record) == []


def test_a_title_that_is_too_long_is_cut():
    document = Document("", metadata={"title": "word " * 60, "mesh": ["a", "b"]})
    (chunk,) = BiomedicalAbstractChunker(tokenizer="words", max_tokens=20, overlap_tokens=0, mesh=True).chunk(document)
    assert chunk.tokens == 20
    assert BiomedicalAbstractChunker(tokenizer=len, max_tokens=5, overlap_tokens=0).chunk(document) == []


# Sources, frameworks, tokenizers, settings.


def test_a_record_is_read():
    record = "PMID- 7\nTI  - A trial\nAB  - AIM: To see. RESULTS:\n      Seen.\n"
    (chunk,) = BiomedicalAbstractChunker().chunk(record)
    assert chunk.text == "AIM: To see. RESULTS: Seen."
    assert record[slice(*chunk.source_spans[0])].endswith("Seen.")
    assert chunk.metadata["parent_uid"] == "pubmed:7"
    assert chunk == BiomedicalAbstractChunker().chunk(abstracts.read(record))[0]


@pytest.mark.usefixtures("tiktoken_cache")
def test_an_abstract_that_fits_is_whole_if_counts_do_not_add_up():
    words = " ".join(f"Sentence number {i} is here, isn't it?" for i in range(20))
    size = as_counter("cl100k_base")(words)
    params = {"tokenizer": "cl100k_base", "include_context": False, "min_tokens": 0}
    assert len(BiomedicalAbstractChunker(max_tokens=size, target_tokens=size, **params).chunk(words)) == 1
    assert len(BiomedicalAbstractChunker(max_tokens=size - 1, target_tokens=80, **params).chunk(words)) > 1


def test_defaults_are_reduced_to_a_smaller_maximum():
    small = BiomedicalAbstractChunker(max_tokens=90)
    sizes = [small.size(name) for name in ("min_tokens", "target_tokens", "overlap_tokens")]
    assert sizes == [24, 65, 10]
    assert (small.min_tokens, small.target_tokens, small.overlap_tokens) == (120, 325, 50)
    assert BiomedicalAbstractChunker(max_tokens=400).size("overlap_tokens") == 50


def test_settings_come_from_the_environment():
    assert (chunker_settings({}), boosts({})) == ({}, BOOSTS)
    sizes = {"target_tokens": 300, "max_tokens": 400, "min_tokens": 100, "overlap_tokens": 40}
    shares = {"Results": 0.4, "Conclusions": 0.3, "Methods": 0.2, "Background": 0.0}
    environment = {f"BIO_MCP_CHUNKER_{name.upper()}": str(value) for name, value in sizes.items()}
    environment |= {f"BIO_MCP_BOOST_{name.upper()}_SECTION": str(value) for name, value in shares.items()}
    space = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    environment |= {"BIO_MCP_CHUNKER_VERSION": "v9", "BIO_MCP_UUID_NAMESPACE": space, "BIO_MCP_LOG_LEVEL": "debug"}
    settings = chunker_settings(environment)
    expected = BiomedicalAbstractChunker(**sizes, chunker_version="v9", namespace=space)
    assert BiomedicalAbstractChunker(**settings) == expected
    assert langchain_advchunk.BiomedicalAbstractSplitter(**settings).core().fingerprint() == expected.fingerprint()
    assert llamaindex_advchunk.BiomedicalAbstractNodeParser(**settings).core().fingerprint() == expected.fingerprint()
    assert boosts(environment | {"BIO_MCP_QUALITY_BOOST_FACTOR": "0.5"}) == {**shares, "quality": 0.5}


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("BIO_MCP_CHUNKER_MAX_TOKENS", "many", "BIO_MCP_CHUNKER_MAX_TOKENS must be a whole number >= 0, got 'many'"),
        ("BIO_MCP_BOOST_RESULTS_SECTION", "nan", "RESULTS_SECTION must be a finite number >= 0, got 'nan'"),
        ("BIO_MCP_CHUNKER_MAX_TOKEN", "1", "CHUNKER_MAX_TOKEN; did you mean 'BIO_MCP_CHUNKER_MAX_TOKENS'"),
    ],
)
def test_a_bad_setting_is_an_error(name, value, rule):
    with pytest.raises(ConfigurationError, match=rule):
        (boosts if "BOOST" in name else chunker_settings)({name: value})


@pytest.mark.parametrize(
    ("metadata", "share"),
    [
        ({}, 0.0),
        ({"section": "Methods"}, 0.05),
        ({"section": "Unstructured"}, 0.0),
        ({"section": "Background, Results"}, 0.15),
        ({"quality_total": 0.3}, 0.03),
        ({"published_at": "2024"}, 0.1),
        ({"published_at": "2023-12-31"}, 0.05),
        ({"year": 2016}, 0.02),
        ({"year": 2015}, 0.0),
        ({"published_at": "n.d."}, 0.0),
        ({"section": "Results", "quality_total": 1, "year": 2026}, 0.35),
    ],
)
def test_boosts_are_those_of_section_quality_and_age(metadata, share):
    assert boost(metadata, 2026) == pytest.approx(share)


@pytest.mark.parametrize("text", ["<TEI><text/></TEI>", '{"schema_name": "DoclingDocument"}'])
def test_a_paper_is_refused(text):
    with pytest.raises(ConfigurationError, match="needs an abstract or a PubMed record, got"):
        BiomedicalAbstractChunker().chunk(text)
    assert BiomedicalAbstractChunker(normalize=False, include_context=False).chunk(text)[0].text == text
