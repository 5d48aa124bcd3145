"""The option ``--context`` of commands: own words, a model's, what it would cost, and what is asked again."""

import json
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

from advchunk import RecursiveChunker, read_file
from advchunk.cli import main
from advchunk.enrich import ContextualEnricher
from advchunk.retrieval import StoredRetriever
from servers import Endpoint, says

TEXT = (
    "# Cats and courts\n\nA text on cats and courts.\n\n## Cats\n\nCats nap all day. They purr.\n\n## "
    "Courts\n\nCourts rule on law.\n"
)
SIZE = ["-m", "recursive", "-p", "max_tokens=30"]


def run(*args):
    separate = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}  # click < 8.2
    return CliRunner(**separate).invoke(main, [str(arg) for arg in args])


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


def chunks_of(result):
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_without_a_model_chunks_have_the_words_of_their_document(path):
    rows = chunks_of(run("chunk", path, *SIZE, "--context", "-f", "jsonl"))
    chunker = RecursiveChunker(max_tokens=30)
    document = read_file(path)
    enricher = ContextualEnricher(max_tokens=30)
    expected = enricher.enrich(document, chunker.chunk(document))
    assert [(chunk["text"], chunk["context"]) for chunk in rows] == [(chunk.text, chunk.context) for chunk in expected]
    assert "A text on cats and courts." in rows[-1]["context"]


def test_a_model_is_asked_once_about_each_chunk_and_the_estimate_says_so_before(path):
    with Endpoint(says("On cats.")) as endpoint:
        model = ["--context", "--llm", endpoint.url, "-p", "llm_model=small", "--cache", "answers.db"]
        estimate = run("chunk", path, *SIZE, *model, "--estimate")
        assert (estimate.exit_code, endpoint.asked) == (0, [])
        rows = chunks_of(run("chunk", path, *SIZE, *model, "-f", "jsonl"))
        assert [chunk["context"].splitlines()[-1] for chunk in rows] == ["On cats."] * len(rows)
        assert {body["model"] for body in endpoint.asked} == {"small"}
        assert estimate.stdout.startswith(f"{len(endpoint.asked)} requests: ")
        again = run("chunk", path, *SIZE, *model, "--estimate")
        assert again.stdout.startswith("0 requests: ")
        assert len(endpoint.asked) == len(rows)


def test_the_estimate_of_an_index_is_of_what_would_be_read_and_changes_nothing(path):
    with Endpoint(says("On cats.")) as endpoint:
        command = ["index", path, "--into", "my.index", "--mode", "lexical", *SIZE]
        command += ["--context", "--llm", endpoint.url, "-p", "llm_model=small"]
        estimate = run(*command, "--estimate")
        assert (estimate.exit_code, endpoint.asked, Path("my.index").exists()) == (0, [], False)
        assert run(*command).exit_code == 0
        assert estimate.stdout.startswith(f"{len(endpoint.asked)} requests: ")
        before = Path("my.index").read_bytes()
        assert run(*command, "--estimate").stdout.startswith("0 requests: ")
        path.write_text(TEXT.replace("purr", "sleep"))
        assert run(*command, "--estimate").stdout.startswith("1 requests: ")  # the other chunk has been asked about
        assert Path("my.index").read_bytes() == before


def test_an_index_keeps_contexts_and_is_read_again_only_if_they_change(path):
    first = run("index", path, "--into", "my.index", "--mode", "lexical", *SIZE, "--context")
    assert first.exit_code == 0, first.stderr
    assert "0 unchanged, 1 read" in first.stderr
    hits = StoredRetriever("my.index").search("text", 9)
    assert any("A text on cats" in hit.chunk.context for hit in hits)
    for options, counts in (["--context"], "1 unchanged, 0 read"), ([], "0 unchanged, 1 read"):
        asked = run("ask", path, "Who rules on law?", "--index", "my.index", *SIZE, *options)
        assert asked.exit_code == 0, asked.stderr
        assert counts in asked.stderr


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (["--estimate"], "--estimate needs --context and a model"),
        (["--estimate", "--context"], "--estimate needs --context and a model"),
        (["--context", "--cache", "a.db"], "must be used without --embedder and --cache"),
    ],
)
def test_wrong_combinations_are_named(path, options, rule):
    for command in [["chunk", path], ["index", path, "--into", "my.index"]]:
        result = run(*command, *SIZE, *options)
        assert result.exit_code == 2
        assert rule in result.stderr
