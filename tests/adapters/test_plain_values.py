"""A component of either framework keeps each plain value: as a dictionary, as JSON, and when pickled."""

import json
import logging
import pickle
from dataclasses import fields, is_dataclass

import pytest

import langchain_advchunk as lc
import llamaindex_advchunk as li
from advchunk import ConfigurationError, names
from advchunk.enrich import ContextualEnricher
from advchunk.retrieval import PassageCutter, WindowScoring
from front_ends import adapter
from stand_ins import STAND_INS

# Values of all kinds that parameters have: those that one refuses are left out.
VALUES = {
    "levels": [[512, 128], ["section", 128, "sentence"]],
    "tokenizer": ["characters", "words"],
    "length_function": ["characters", "words"],
    "sentence_splitter": ["line"],
    "cutter": [PassageCutter(around=50, tokenizer="words", scoring=WindowScoring((30, 90), k1=1.2))],
    "texts": [{"pets.md": "Cats purr."}],
    "vectors": ["plain", "units"],
    "fallback": [None],
    "cache": ["vectors.sqlite"],
    "order": ["document"],
    "on_error": ["skip"],
    "language": ["de"],
    "headings": [r"§ \d+"],
    "markup": ["html"],
}
NUMBERS = [0, 1, 2, 5, 0.25, 0.5, 90, 300, True, False]
WITHOUT = {"callback_manager", "id_func", "nodes", "docstore", "enricher", "chunker"}  # objects


def components():
    """Yield each class that is serialized, and what it cannot be made without."""
    for name in names():
        for package, suffix in ((lc, "Splitter"), (li, "NodeParser")):
            yield adapter(name, package, suffix), STAND_INS.get(name, {})
    enricher = {"enricher": ContextualEnricher()}
    for cls in (lc.PassageCompressor, li.PassagePostprocessor):
        yield cls, {}
    yield li.ChunkEnricher, enricher


def fields_of(cls):
    own = [own.name for own in fields(cls)] if is_dataclass(cls) else list(cls.model_fields)
    return [name for name in own if not name.startswith("_") and name not in WITHOUT]


def made_with_a_value_each(cls, needed):
    """Yield an object for each value that a parameter takes, and is not its default."""
    usual = cls(**needed)
    for name in fields_of(cls):
        for value in [] if name in needed else [*VALUES.get(name, []), *NUMBERS]:
            if getattr(usual, name) == value:
                continue
            try:
                made = cls(**needed, **{name: value})
            except (ConfigurationError, TypeError):
                continue
            yield name, made
            break


def copies(made, needed):
    """Yield what is read back from each form."""
    cls = type(made)
    copy = pickle.loads(pickle.dumps(made))
    assert type(copy) is cls
    yield copy
    objects = {name: value for name, value in needed.items() if not isinstance(value, (str, int, list))}
    if hasattr(made, "to_dict"):
        yield cls.from_dict(made.to_dict(), **objects)
        yield cls.from_json(made.to_json(), **objects)
    elif hasattr(made, "model_dump_json"):
        yield cls(**made.model_dump())
        yield cls(**json.loads(made.model_dump_json()))


@pytest.mark.parametrize(("cls", "needed"), list(components()), ids=lambda own: getattr(own, "__name__", ""))
def test_no_plain_value_is_lost(cls, needed, caplog):
    checked = set()
    for name, made in made_with_a_value_each(cls, needed):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            for copy in copies(made, needed):
                kept = [own for own in fields_of(cls) if own not in needed]
                lost = [own for own in kept if getattr(copy, own) != getattr(made, own)]
                assert not lost, f"{cls.__name__}({name}={getattr(made, name)!r}) lost {lost}"
        assert "differs from that of the dictionary" not in caplog.text
        checked.add(name)
    assert checked >= {"levels", "tokenizer", "length_function", "cutter"}.intersection(fields_of(cls)) - needed.keys()
    assert checked


def test_chunks_are_the_same_after_json():
    text = "Cats purr at noon. Dogs bark at night. Judges sit in court. " * 20
    parser = li.RecursiveNodeParser(tokenizer="characters", max_tokens=80)
    assert li.RecursiveNodeParser.from_json(parser.to_json()).split_text(text) == parser.split_text(text)
