"""The contract of every chunker and front end on metadata: the user's comes out unchanged, and nothing of it is
shared."""

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document as LangChainDocument
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core.ingestion import IngestionPipeline

import langchain_advchunk
import llamaindex_advchunk
from advchunk import Document
from advchunk.chunkers.catalog import chunker_class
from advchunk.records import remove_written, written_keys, written_metadata
from algorithms import ALGORITHMS
from front_ends import every_chunker
from stand_ins import STAND_INS

TEXT = (
    "# Tea\n\nGreen tea is made of leaves. It is drunk hot.\n\n## Milk\n\nMilk is white. Cows give milk. Cats "
    "like it.\n"
)
OURS = [
    "token_count", "summary", "uuid", "page", "pages", "boxes", "strategy", "level", "chunk_index",
    "chunk_idx", "chunk_id", "start_index", "end_index", "spans", "context", "source", "source_id", "section",
    "title_path", "cut", "cut_score", "word_count", "domain", "chunker", "fallback_from", "oversize", "parent_id",
    "parent_uid", "title", "pmid", "mesh", "imrad", "chapter", "rewritten", "original_text", "doc_id",
    "tokens", "n_sentences", "file_path", "advchunk_level", "advchunk_keys",
]  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
users_metadata = st.dictionaries(st.sampled_from(OURS) | st.text(max_size=4), json_values, max_size=len(OURS)).filter(
    lambda metadata: not written_keys(metadata)
)
relaxed = settings(max_examples=2, suppress_health_check=list(HealthCheck))


def everything():
    """Return metadata with all of our keys that are not context, and values of other types than ours."""
    return {key: [key, {"is": ["the user's"]}] for key in OURS if key not in {"title", "pmid", "mesh"}}


def params(name):
    own = {"max_tokens": 24, "overlap_tokens": 0, "include_context": True, "add_scores": True}
    return {**STAND_INS.get(name, {}), **own, **({"mesh": True} if name == "biomedical-abstract" else {})}


def front_end(name, package, suffix):
    return getattr(package, chunker_class(name).__name__.removesuffix("Chunker") + suffix)(**params(name))


def of_documents(chunks):
    """Return the chunks of documents; a summary of a corpus belongs to none, and has none of the user's metadata."""
    return [chunk for chunk in chunks if "sources" not in written_metadata(chunk.metadata)]


def metadata_of(chunks):
    """Return the metadata of the chunks of documents."""
    return [chunk.metadata for chunk in of_documents(chunks)]


def metadata_in_core(name, users):
    chunker = chunker_class(name)(**params(name))

    def chained(chunks):
        return [part for chunk in chunks for part in chunker.chunk(Document(chunk.text, metadata=chunk.metadata))]

    documents = [Document(TEXT, str(i), metadata=metadata) for i, metadata in enumerate(users)]
    results = chunker.chunk_many(documents)
    chunks = [chunk for chunks in results for chunk in chunks]
    assert results == asyncio.run(chunker.achunk_many(documents))
    return [metadata_of(chunks), metadata_of(chained(chunks))]


def metadata_in_langchain(name, users):
    splitter = front_end(name, langchain_advchunk, "Splitter")
    documents = [LangChainDocument(TEXT, id=str(i), metadata=metadata) for i, metadata in enumerate(users)]
    chunks = splitter.split_documents(documents)
    assert chunks == splitter.transform_documents(documents)
    assert chunks == asyncio.run(splitter.atransform_documents(iter(documents)))
    return [metadata_of(chunks), metadata_of(splitter.split_documents(of_documents(chunks)))]


def metadata_in_llama_index(name, users):
    parser = front_end(name, llamaindex_advchunk, "NodeParser")
    documents = [LlamaIndexDocument(text=TEXT, id_=str(i)) for i in range(len(users))]
    for document, metadata in zip(documents, users, strict=True):
        document.metadata = metadata
    nodes = parser.get_nodes_from_documents(documents)
    assert nodes == asyncio.run(parser.aget_nodes_from_documents(documents))
    if not ALGORITHMS[name].corpus:  # a parser of a whole corpus is no transformation
        assert nodes == parser(documents) == asyncio.run(parser.acall(documents))
        assert [node.metadata for node in nodes] == [
            node.metadata for node in IngestionPipeline(transformations=[parser]).run(documents=documents)
        ]
    own = users[0]
    again = parser.get_nodes_from_documents(nodes)
    for node in of_documents([*nodes, *again]):
        seen = node.metadata.keys() - node.excluded_embed_metadata_keys
        assert seen == node.metadata.keys() - node.excluded_llm_metadata_keys
        context = {key for name, key in written_keys(node.metadata).items() if name == "context"}
        assert seen - context - {"title"} == own.keys() - {"title"}  # which is hidden where it is in the context
    return [metadata_of(nodes), metadata_of(again)]


FRONT_ENDS = {"core": metadata_in_core, "langchain": metadata_in_langchain, "llama_index": metadata_in_llama_index}
front_ends = pytest.mark.parametrize("split", FRONT_ENDS.values(), ids=FRONT_ENDS)


def as_text(metadata):
    return json.dumps(metadata, sort_keys=True)


@every_chunker
@front_ends
@relaxed
@given(users=users_metadata)
def test_the_users_metadata_comes_out_unchanged(name, split, users):
    before = as_text(users)
    for passed in split(name, [users]):
        assert passed
        for metadata in passed:
            json.dumps(metadata)
            assert as_text(remove_written(metadata, written_keys(metadata))) == before
    assert as_text(users) == before


@every_chunker
@front_ends
def test_keys_of_ours_that_the_user_has_are_given_a_prefix(name, split):
    for ours, passed in zip(split(name, [{}]), split(name, [everything()]), strict=True):
        assert len(ours) == len(passed)
        for plain, metadata in zip(ours, passed, strict=True):
            assert {**metadata, **everything()} == metadata
            identifying = {"uuid", "parent_uid", "source", "source_id"}  # which follow from the user's source
            for key, value in written_metadata(plain).items():
                assert key in identifying or written_metadata(metadata)[key] == value


def containers(value):
    """Yield the identity of each list and dict in a value."""
    if isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


@every_chunker
@front_ends
def test_no_metadata_is_shared_with_the_input_or_with_other_chunks(name, split):
    users = [everything(), everything()]
    seen = set(containers(users))
    results = split(name, users)
    for metadata in (metadata for passed in results for metadata in passed):
        own = set(containers(metadata))
        assert not own & seen
        seen |= own


@pytest.mark.parametrize("first", ["core", "langchain", "llama_index"])
def test_chunks_of_one_front_end_are_split_again_by_the_others(first):
    name, users = "recursive", {"level": "A1", "section": "of the user", "k": 1}
    [chunks, _] = FRONT_ENDS[first](name, [users])
    assert all(written_metadata(metadata)["section"] in {"Tea", "Milk"} for metadata in chunks)
    for split in (metadata_in_core, metadata_in_langchain):
        for metadata in (metadata for passed in split(name, chunks[-1:]) for metadata in passed):
            assert remove_written(metadata, written_keys(metadata)) == users
            assert written_metadata(metadata)["section"] in {"Tea", "Milk"}  # of its own text, or inherited
