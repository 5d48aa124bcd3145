"""What LlamaIndex users rely on."""

import asyncio
import json
import pickle
from pathlib import Path

import pytest
from llama_index.core import Settings
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, ImageDocument, ImageNode, MediaResource, MetadataMode, TextNode
from pydantic import PrivateAttr, ValidationError

from advchunk import ConfigurationError, RecursiveChunker
from advchunk.models.static import default_embedder
from llamaindex_advchunk import (
    ChunkerNodeParser,
    DefaultEmbedding,
    GrobidSectionNodeParser,
    MSTSemanticNodeParser,
    RecursiveNodeParser,
    UniversalSemanticNodeParser,
    chunk_spans,
)

ROWS = "n/a, n/a, 0, x. " * 40
CATS_AND_LAWS = "Cats purr and nap all day.\n\nJudges sit in court.\n\nCats nap and cats purr."
used = []


class Recording(DefaultEmbedding):
    """The embedded default; remembers which method was used."""

    model_name: str = "unknown"
    embed_batch_size: int = 10
    api_key: str = "secret"
    _hidden: str = PrivateAttr("x")

    def _get_text_embeddings(self, texts):
        used.append("sync")
        return super()._get_text_embeddings(texts)

    async def _aget_text_embedding(self, text):
        raise AssertionError

    async def _aget_text_embeddings(self, texts):
        used.append("async")
        return super()._get_text_embeddings(texts)

    async def _aget_query_embedding(self, query):
        raise AssertionError


def parse(text=ROWS, **params):
    return RecursiveNodeParser(**params)([Document(text=text, id_="D", metadata={"k": "v"})])


def test_our_metadata_is_hidden_and_the_documents_exclusions_are_kept():
    document = Document(
        text="# Tea\n\nGreen.", metadata={"k": "v", "secret": "s"}, excluded_embed_metadata_keys=["secret"]
    )
    (node,) = RecursiveNodeParser(add_scores=True)([document])
    assert node.metadata == {
        "k": "v", "secret": "s", "section": "Tea", "title_path": "Tea", "start_line": 1, "end_line": 3,
        "language": "und", "token_count": 4, "level": 0, "advchunk_keys": "section title_path start_line end_line "
                                                                          "language token_count level",
    }  # fmt: skip
    assert node.get_content(MetadataMode.EMBED) == "k: v\n\n# Tea\n\nGreen."
    assert node.get_content(MetadataMode.LLM) == "k: v\nsecret: s\n\n# Tea\n\nGreen."
    (bare,) = RecursiveNodeParser(include_metadata=False)([document])
    assert "k" not in bare.metadata


def test_context_is_embedded_but_not_part_of_the_text():
    text = "# Guide\n\nHello there.\n\n## Install\n\nRun make now."
    (*_, last) = parse(text, max_tokens=11, include_context=True)
    assert last.text == "## Install\n\nRun make now." == text[last.start_char_idx : last.end_char_idx]
    assert last.metadata["context"] == "Guide"
    assert "context: Guide" in last.get_content(MetadataMode.EMBED)


def test_spans_lead_to_the_text_of_a_chunk():
    users = {"spans": "the user's", "context": "the user's"}
    for parser in (RecursiveNodeParser(max_tokens=20, include_context=True), MSTSemanticNodeParser(n_segments=2)):
        nodes = parser([Document(text=CATS_AND_LAWS, metadata=users)])
        core = parser.core().chunk(CATS_AND_LAWS)
        assert [chunk_spans(node) for node in nodes] == [chunk.spans for chunk in core]
        assert ["".join(CATS_AND_LAWS[a:b] for a, b in chunk_spans(node)) for node in nodes] == [n.text for n in nodes]
    assert chunk_spans(TextNode(text="One.", metadata=users)) == ()
    assert chunk_spans(SentenceSplitter()([Document(text="One.")])[0]) == ((0, 4),)


def test_the_embedded_default_is_an_embedding():
    model, texts = DefaultEmbedding(), ["Cats purr.", "a \ud800"]
    assert model.get_text_embedding_batch(texts)[0] == default_embedder().embed(texts[:1])[0].tolist()
    assert asyncio.run(model.aget_text_embedding_batch(texts)) == model.get_text_embedding_batch(texts)
    assert asyncio.run(model.aget_query_embedding("Cats")) == model.get_query_embedding("Cats")
    parser = MSTSemanticNodeParser(embed_model=model)
    assert parser.split_text(CATS_AND_LAWS) == MSTSemanticNodeParser().split_text(CATS_AND_LAWS)
    for copy in (DefaultEmbedding.from_dict(model.to_dict()), pickle.loads(pickle.dumps(model))):
        assert copy.to_dict() == model.to_dict()
    with pytest.raises(ValidationError, match="model_name"):
        DefaultEmbedding(model_name="another")


def test_chained_parsers_place_chunks_in_the_root():
    nodes = RecursiveNodeParser(max_tokens=15)(parse(max_tokens=60))
    assert all(ROWS[n.start_char_idx : n.end_char_idx] == n.text and n.ref_doc_id == "D" for n in nodes)
    assert sum(n.next_node is not None for n in nodes) == len(nodes) - 1
    grouped = MSTSemanticNodeParser(n_segments=2)([Document(text=CATS_AND_LAWS)])
    assert grouped[0].metadata["spans"] == "0-28 50-73"
    (again, *_) = RecursiveNodeParser()(grouped)
    assert chunk_spans(again) == chunk_spans(grouped[0])


def test_nodes_without_text_pass_through_or_vanish():
    (picture,) = RecursiveNodeParser()([ImageDocument(image="cG5n", id_="p"), Document(text="  ")])
    assert isinstance(picture, ImageNode)
    assert (picture.image, picture.ref_doc_id) == ("cG5n", "p")
    assert RecursiveNodeParser()([picture]) == [picture]
    assert [n.text for n in RecursiveNodeParser()([TextNode(text="A node.")])] == ["A node."]


def test_the_nodes_of_documents_with_media_keep_them():
    image = ImageDocument(text="Tea is hot. " * 20, image="cG5n", text_template="{content}!")
    nodes = RecursiveNodeParser(max_tokens=20)([image])
    assert len(nodes) > 1
    assert {(type(node), node.image, node.text_template) for node in nodes} == {(ImageNode, "cG5n", "{content}!")}
    text, sound = RecursiveNodeParser()([Document(text="Tea.", audio_resource=MediaResource(data=b"mp3"))])
    assert (text.text, sound.get_content()) == ("Tea.", "")
    assert sound.audio_resource.data is not None
    assert sound.ref_doc_id == text.ref_doc_id


def test_a_dict_makes_the_same_parser_and_the_cache_key_is_honest():
    parser, documents = MSTSemanticNodeParser(max_tokens=9), [Document(text="x")]
    assert MSTSemanticNodeParser.from_dict(parser.to_dict()).to_dict() == parser.to_dict()
    assert json.loads(parser.to_json())["max_tokens"] == 9
    parsers = [parser, MSTSemanticNodeParser(), MSTSemanticNodeParser(max_tokens=9, tokenizer=len)]
    parsers += [MSTSemanticNodeParser(max_tokens=9, embed_model=Recording(model_name=n)) for n in "ab"]
    assert len({get_transformation_hash(documents, p) for p in parsers}) == 5
    bigger = MSTSemanticNodeParser(max_tokens=9, embed_model=Recording(model_name="a", embed_batch_size=3))
    assert get_transformation_hash(documents, bigger) == get_transformation_hash(documents, parsers[3])
    assert "secret" not in bigger.to_json()


def test_async_uses_the_async_embedding_method():
    used.clear()
    documents = [Document(text=CATS_AND_LAWS, id_="1"), Document(text="A a.\n\nC c.", id_="2")]
    parser = MSTSemanticNodeParser(embed_model=Recording(embed_batch_size=100))
    nodes = asyncio.run(parser.acall(documents))
    assert used == ["async"]  # one call for both documents
    assert [n.node_id for n in nodes] == [n.node_id for n in MSTSemanticNodeParser()(documents)]


def test_ids_are_stable_or_the_users():
    ours = [n.node_id for n in parse(max_tokens=90)]
    assert ours == [n.node_id for n in parse(max_tokens=90)]
    named = parse(id_func=lambda i, node: f"{node.node_id}-{i}", max_tokens=90)
    assert [n.node_id for n in named][:2] == ["D-0", "D-1"]


def test_from_defaults_progress_and_settings(capsys):
    parser = RecursiveNodeParser.from_defaults(chunk_size=30, chunk_overlap=3)
    assert (parser.core().max_tokens, parser.core().overlap_tokens) == (30, 3)
    parser.get_nodes_from_documents([Document(text="a"), Document(text="b")], show_progress=True)
    assert "Parsing nodes" in capsys.readouterr().err
    before = Settings._node_parser
    try:
        Settings.node_parser = parser
        Settings.chunk_size = 12
        assert (Settings.chunk_size, parser.max_tokens, parser.core().max_tokens) == (12, 12, 12)
    finally:
        Settings._node_parser = before
    with pytest.raises(ConfigurationError, match="chunk_size is another name for max_tokens: pass only one"):
        RecursiveNodeParser(chunk_size=3, max_tokens=4)


def test_on_error():
    class Moody(RecursiveChunker):
        def plan(self, document):
            if "bad" in document.text:
                raise ValueError(*["no"])
            return (yield from super().plan(document))

    documents, failures = [Document(text=t, id_=t) for t in ("fine", "bad", "good")], []
    nodes = ChunkerNodeParser(chunker=Moody(), on_error=failures.append)(documents)
    assert [n.text for n in nodes] == ["fine", "good"]
    assert [f.source for f in failures] == ["bad"]
    with pytest.raises(ConfigurationError, match="on_error must be 'raise', 'skip' or a callable"):
        RecursiveNodeParser(on_error="collect")


def test_pages_and_elements_of_readers_are_parsed_together():
    path = Path(__file__).parents[1] / "data" / "parsers" / "loaders.json"
    loaded = json.loads(path.read_text(encoding="utf-8"))
    parser = RecursiveNodeParser(max_tokens=40)
    [node] = parser.get_nodes_from_parts([Document.from_dict(part) for part in loaded["llama_index_pdf"]])
    assert node.text == "Tea and sleep\nWe asked 120 sailors about tea.\n\nThey slept."
    assert (node.metadata["page"], node.metadata["pages"], node.ref_doc_id) == (1, "1 2", "docs/tea.pdf")
    assert {"file_name", "page"} <= set(node.excluded_embed_metadata_keys)
    assert "page_label" not in node.metadata
    elements = [TextNode.from_dict(part) for part in loaded["llama_index_unstructured"]]
    nodes = parser.get_nodes_from_parts(elements)
    assert "\n| green | 7.1 | 0.4 |\n" in "".join(node.text for node in nodes)
    assert (nodes[0].start_char_idx, nodes[1].start_char_idx) == (0, nodes[0].end_char_idx)


def test_papers_come_as_text():
    paper = "<TEI><text><body><div><head>Results</head><p>Weight fell.</p></div></body></text></TEI>"
    [node] = GrobidSectionNodeParser()([Document(text=paper, id_="a")])
    assert (node.text, node.metadata["imrad"], node.start_char_idx) == ("Results\n\nWeight fell.", "Results", None)


def test_a_parser_that_lost_its_resources_is_named(caplog):
    data = UniversalSemanticNodeParser(embed_model=Recording(), max_tokens=300).to_dict()
    assert UniversalSemanticNodeParser.from_dict(data, embed_model=Recording()).to_dict() == data
    assert caplog.messages == []
    assert UniversalSemanticNodeParser.from_dict(data).max_tokens == 300
    assert "UniversalSemanticNodeParser.from_dict makes a parser that differs" in caplog.text


def test_plain_vectors_are_of_text_and_context_without_the_metadata_that_llama_index_embeds():
    document = Document(text="# Tea\n\nGreen tea.", metadata={"author": "Ann"})
    [node] = RecursiveNodeParser(vectors="plain")([document])
    assert node.embedding == default_embedder().embed([node.text])[0].tolist()
    assert "author: Ann" in node.get_content(MetadataMode.EMBED)
    [left] = RecursiveNodeParser()([document])
    assert left.embedding is None  # so that the index embeds it, with its metadata
