"""Names of other libraries: each has a hint, and each hint leads to something that exists."""

import inspect
from dataclasses import fields

import pytest

from advchunk import RecursiveChunker, SemanticThresholdChunker, create, names
from advchunk.chunkers import other_names
from advchunk.chunkers.catalog import chunker_class

ALL = {field.name for name in names() for field in fields(chunker_class(name))}
ADAPTERS = {"length_function", "embeddings", "embed_model"}


def constructor(cls):
    """Return the names of the parameters of a class and its bases."""
    inits = [base.__init__ for base in cls.__mro__ if "__init__" in vars(base)]
    names = {
        p.name
        for init in inits
        for p in inspect.signature(init).parameters.values()
        if p.kind < p.VAR_POSITIONAL or p.kind == p.KEYWORD_ONLY
    }
    return names - {"self", "args", "kwargs", "_", "__"}


def langchain():
    import langchain_text_splitters

    classes = [getattr(langchain_text_splitters, name) for name in dir(langchain_text_splitters)]
    return set().union(*(constructor(cls) for cls in classes if inspect.isclass(cls) and "Splitter" in cls.__name__))


def langchain_semantic():
    return constructor(pytest.importorskip("langchain_experimental.text_splitter").SemanticChunker)


def llama_index():
    from llama_index.core import node_parser

    classes = [cls for cls in vars(node_parser).values() if inspect.isclass(cls) and hasattr(cls, "from_defaults")]
    made = set().union(*(inspect.signature(cls.from_defaults).parameters for cls in classes))
    return (made | set().union(*(cls.model_fields for cls in classes))) - {"kwargs"}


def chonkie():
    package = pytest.importorskip("chonkie")
    classes = [getattr(package, name) for name in dir(package) if name.endswith("Chunker")]
    return set().union(*(constructor(cls) for cls in classes if inspect.isclass(cls)))


def semchunk():
    package = pytest.importorskip("semchunk")
    called = inspect.signature(package.chunk).parameters, inspect.signature(package.chunkerify).parameters
    return {name for names in called for name in names if not name.startswith("_")} - {"text"}


@pytest.mark.slow
@pytest.mark.parametrize("library", [langchain, langchain_semantic, llama_index, chonkie, semchunk])
def test_every_parameter_of_other_libraries_has_a_hint(library):
    for chunker in (RecursiveChunker, SemanticThresholdChunker):
        accepted = [field.name for field in fields(chunker)]
        unknown = library() - {*accepted}
        assert unknown
        assert {name for name in unknown if not other_names.parameter_hint(name, accepted)} == set()


def test_hints_lead_to_parameters_that_exist():
    for entry in other_names._table()["parameters"]:
        assert set(entry) <= {"names", "ours", "note", "otherwise"}
        assert {*entry.get("ours", ())} <= ALL | ADAPTERS
        assert entry.get("ours") or entry["note"]


def test_a_name_is_in_the_table_once():
    listed = [name for entry in other_names._table()["parameters"] for name in entry["names"]]
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("mst", ["mst-semantic"]),
        ("MSTSemanticChunker", ["mst-semantic"]),
        ("mst_semantic", ["mst-semantic"]),
        ("token", ["sliding-window"]),
        ("sentence", ["recursive"]),
        ("SentenceSplitter", ["recursive"]),
        ("RecursiveCharacterTextSplitter", ["recursive"]),
        ("MarkdownHeaderTextSplitter", ["recursive"]),
        ("semantic", ["semantic-threshold", "universal-semantic", "optimal-semantic"]),
        ("SemanticSplitterNodeParser", ["semantic-threshold", "universal-semantic", "optimal-semantic"]),
        ("chaptering", ["llm-chaptering"]),
        ("recursiv", ["recursive"]),
        ("LateChunker", ["recursive"]),
        ("HTMLSectionSplitter", ["recursive"]),
        ("HierarchicalNodeParser", ["hierarchical"]),
    ],
)
def test_other_names_of_methods_are_understood(name, methods):
    hint = other_names.method_hint(name, names())
    assert [method for method in names() if f"'{method}'" in hint] == sorted(methods, key=names().index)


def test_settings_of_hints_are_accepted():
    for word, setting in other_names._table()["settings"].items():
        assert other_names.method_hint(word, names()) == f"; did you mean 'recursive' with {setting}?"
        create("recursive", **dict(part.split("=") for part in setting.replace("'", "").split(", ")))


def test_a_name_like_no_other_has_no_hint():
    assert other_names.parameter_hint("zzzz", ["max_tokens"]) == other_names.method_hint("zzzz", names()) == ""
