"""``advchunk ask``: passages of files for a question, in all formats, with an index that is kept."""

import json
import logging
import re
import shlex
import sqlite3
from contextlib import closing
from inspect import signature
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from advchunk import RecursiveChunker
from advchunk.cli import indexing, main
from advchunk.models.static import StaticEmbedder
from advchunk.retrieval import PassageCutter, Retriever, StoredRetriever, library

ROOT = Path(__file__).parents[2]
TOWN = ROOT / "tests" / "data" / "harbour_town.md"
HEIGHT = "How high did the water rise in the storm?"


def run(*args, stdin="", command=("ask",), **options):
    separate = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}  # click < 8.2
    return CliRunner(**separate).invoke(main, [*command, *map(str, args)], input=stdin, **options)


def passages_of(*args, **options):
    result = run(*args, "-f", "json", **options)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a folder of three documents."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs" / "more").mkdir(parents=True)
    (tmp_path / "docs" / "tea.md").write_text("# Tea\n\nBoil the kettle. Steep the leaves for two minutes.\n")
    (tmp_path / "docs" / "more" / "boats.html").write_text("<h1>Boats</h1><p>Sailors paint the <b>hulls</b> blue.</p>")
    (tmp_path / "docs" / "rows.jsonl").write_text('{"id": "rum", "text": "Rum is made of sugar cane."}\n')
    return tmp_path / "docs"


@pytest.fixture
def reads(monkeypatch):
    """The names of the sources that are read."""
    names, read = [], indexing.read_input

    def read_input(chunker, source, **options):
        names.append(source.name)
        return read(chunker, source, **options)

    monkeypatch.setattr(indexing, "read_input", read_input)
    return names


def test_passages_are_those_of_the_retriever_with_exact_fields():
    options = ["-b", "150", "--min-tokens", "40", "--max-passages", "2", "--order", "document"]
    rows = passages_of(TOWN, HEIGHT, *options)
    (document,) = RecursiveChunker().read_documents(TOWN)
    chunks = RecursiveChunker(max_tokens=100).chunk(document)
    cutter = PassageCutter(min_tokens=40, max_passages=2)
    retriever = Retriever({str(TOWN): chunks}, texts={str(TOWN): document.text}, cutter=cutter)
    passages = retriever.passages(HEIGHT, 150, order="document")
    assert [row["text"] for row in rows] == [passage.text for passage in passages]
    assert [list(row) for row in rows] == len(rows) * [
        ["document", "spans", "citation", "heading", "page", "lines", "score", "tokens", "text", "context", "chunk_ids"]
    ]
    for row in rows:
        assert row["text"] == "".join(document.text[a:b] for a, b in row["spans"])
        (first, last), (start, end) = row["lines"][0], row["spans"][0]
        assert [first, last] == [document.text.count("\n", 0, offset) + 1 for offset in (start, end)]
        lines = f"lines {first}-{last}" if first < last else f"line {first}"
        assert row["citation"].startswith(f"{TOWN}, {row['heading']}, {lines}, characters {start}-")
        assert {*row["chunk_ids"]} <= {chunk.id for chunk in chunks}
    assert 0 < sum(row["tokens"] for row in rows) <= 150


def test_the_formats_have_the_same_passages():
    args = [TOWN, HEIGHT, "-b", "120"]
    rows = passages_of(*args)
    assert [json.loads(line) for line in run(*args, "-f", "jsonl").stdout.splitlines()] == rows
    text, markdown = run(*args).stdout, run(*args, "-f", "markdown").stdout
    for rank, row in enumerate(rows, 1):
        assert f"[{rank}]  {row['citation']}  {row['tokens']} tokens\n" in text
        assert all(f"    {line}" in text for line in row["text"].splitlines() if line)
        assert f"{row['context']}\n\n{row['text']}\n" in markdown
    assert text.endswith(
        f"{len(rows)} passage{'s' * (len(rows) > 1)}, {sum(row['tokens'] for row in rows)} of at most 120 tokens\n"
    )
    assert markdown.startswith("**1. ")


def test_the_headings_of_a_citation_are_not_repeated_but_the_head_of_a_table_is_shown():
    shown = run(TOWN, "When does the late ferry leave Inch Moray on Saturday?", "-b", "100").stdout
    assert "  > | Departure | From Ardsay Haven | From Inch Moray | Days |\n" in shown
    assert "  > Ardsay" not in shown


def test_words_of_the_question_have_a_color_in_a_terminal_only():
    args = [TOWN, "Which storms took the houses of 1703?", "-b", "150"]
    plain = run(*args).stdout
    assert "\x1b" not in plain
    for colored in (run(*args, color=True).stdout, run(*args, "--color").stdout):
        assert click.unstyle(colored) == plain
        assert {"storm", "took", "houses", "1703"} <= {*re.findall(r"\x1b\[31m\x1b\[1m(\w+)", colored)}
        assert not re.findall(r"\x1b\[31m\x1b\[1m(the|of)\b", colored)
        assert f"\x1b[1m{TOWN}, " in colored
    assert "\x1b" not in run(*args, "--no-color", color=True).stdout
    assert "\x1b" not in run(*args, color=True, env={"NO_COLOR": "1"}).stdout
    assert "\x1b" not in run(*args, "-f", "json", "--color").stdout


def test_a_short_question_is_in_the_language_of_the_passages():
    colored = run("-", "Why do millers sleep?", "--color", stdin="# Mills\n\nThe miller is sleeping at noon.")
    assert "\x1b[1mmiller\x1b[0m" in colored.stdout
    assert "\x1b[1msleeping\x1b[0m" in colored.stdout


def test_words_of_scripts_without_spaces_have_a_color_too():
    colored = run("-", "天気予報", "--color", stdin="今日の天気予報。雨が降る。").stdout
    assert "今日の\x1b[31m\x1b[1m天気予報\x1b[0m。" in colored


def test_a_folder_stands_for_its_documents_of_all_formats(folder):
    for question, document, text in (
        ("What do sailors paint?", str(Path("docs/more/boats.html")), "Sailors paint the hulls blue."),
        ("How long to steep?", str(Path("docs/tea.md")), "Steep the leaves for two minutes."),
        ("What is rum made of?", "rum", "Rum is made of sugar cane."),
    ):
        first, *_ = passages_of("docs", question, "--mode", "lexical", "-b", "20")
        assert first["document"] == document
        assert first["text"].endswith(text)
        assert first["heading"] == {"rum": ""}.get(document, Path(document).stem.capitalize())
    twice = passages_of("docs", "docs/tea.md", folder / "tea.md", "How long to steep?", "--mode", "lexical", "-b", "50")
    assert len(twice) == 1


def test_an_index_is_asked_as_a_file_is_and_no_other_command_reads_it(folder):
    assert run("docs", "--into", "my.index", command=["index"]).exit_code == 0
    question = "What do sailors paint?"
    assert passages_of("my.index", question) == passages_of(question, "--index", "my.index")
    for args, command in (
        (["my.index", "docs", question], ["ask"]),
        (["my.index", question, "--index", "other.index"], ["ask"]),
        (["my.index"], ["chunk"]),
        (["my.index", "--into", "other.index"], ["index"]),
    ):
        result = run(*args, command=command)
        assert result.exit_code == 2
        assert (
            "my.index is an index, not a document: search it by advchunk ask --index my.index QUESTION" in result.stderr
        )
    assert run("docs", "my.index", question, "--index", folder.parent / "my.index").exit_code == 0  # is passed over


def test_standard_input_is_read_for_a_dash():
    (row,) = passages_of("-", "What purrs?", stdin="# Pets\n\nCats purr.\n")
    assert (row["document"], row["text"], row["heading"]) == ("stdin", "# Pets\n\nCats purr.", "Pets")
    (row,) = passages_of("-", "What purrs?", "--markup", "html", stdin="<p>Cats <b>purr</b>.</p>")
    assert row["text"] == "Cats purr."


def test_a_passage_is_cited_with_its_times(tmp_path):
    (tmp_path / "a.vtt").write_text(
        "WEBVTT\n\n00:00:01.000 --> 00:00:04.000\n<v Ann>Boil the water.\n\n"
        "00:01:05.000 --> 01:02:09.000\n<v Bob>Wait two minutes.\n"
    )
    (row,) = passages_of(tmp_path / "a.vtt", "How many minutes?", "-b", "10")
    assert row["citation"] == f"{tmp_path / 'a.vtt'}, 0:00:01-1:02:09, characters 22-44"
    page = tmp_path / "page.html"
    assert run(tmp_path / "a.vtt", "--question", "minutes?", "-b", "10", "-o", page, command=["view"]).exit_code == 0
    assert "a.vtt, 0:00:01-1:02:09, characters 22-44" in page.read_text("utf-8")


def test_files_that_fail_are_reported_and_the_others_answer(folder):
    (folder / "rows.jsonl").write_text('{"id": "rum", "text": "Rum."}\nno\n{"id": "rum", "text": "Again."}\n')
    result = run("docs", "none.md", "none.jsonl", "How long to steep?", "-f", "jsonl")
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[0])["document"] == str(Path("docs/tea.md"))
    reported = [line.split(":")[1].strip() for line in result.stderr.splitlines()]
    assert sorted(reported) == [str(Path("docs/rows.jsonl")), "none.jsonl", "none.md", "rum"]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["docs/tea.md"], 2, "the last argument must be the question, after the files, got 'docs/tea.md'"),
        (["docs", "docs/tea.md"], 2, "the last argument must be the question, after the files, got 'docs/tea.md'"),
        (["docs"], 2, "the last argument must be the question"),
        (["What is tea?"], 2, "files must come before the question, or - for standard input"),
        (["天" * 200], 2, "files must come before the question"),
        (["docs", " "], 2, "the question must have a word"),
        (["docs", "?!"], 2, "the question must have a word"),
        ([], 2, "Missing argument"),
        (["none", "What?"], 1, "advchunk: none: No such file or directory\nadvchunk: there is no text to search"),
        (["docs", "xyzzy", "--mode", "lexical"], 1, "advchunk: no word of the question is in the files"),
        (["docs", "Xylophones?", "--mode", "lexical"], 1, "no word of the question is in the files"),
        (["docs", "tea", "-b", "0"], 2, "budget"),
        (["docs", "tea", "--whole-chunks", "--min-tokens", "9"], 2, "--whole-chunks must be used without"),
        (["docs", "tea", "--max-tokens", "9"], 2, "pass it as -p max_tokens=VALUE"),
        (["docs", "tea", "-m", "recursiv"], 2, "did you mean 'recursive'?"),
        (["docs", "tea", "--mode", "lexical", "--embedder", "hybrid"], 2, "recursive does not embed"),
        (["docs", "tea", "--index", "docs"], 2, "path must name a file"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_mistakes_are_explained(args, code, says):
    result = run(*args)
    assert result.exit_code == code
    assert says in result.stderr
    assert result.stdout == ""


@pytest.mark.usefixtures("folder")
def test_nothing_is_an_empty_list_and_a_search_by_vectors_alone_is_noted(caplog):
    nothing = run("docs", "xyzzy", "--mode", "lexical", "-f", "json")
    assert (nothing.exit_code, json.loads(nothing.stdout)) == (1, [])
    vectors = run("docs", "xyzzy", "--mode", "dense")
    assert vectors.exit_code == 0
    assert "which vectors alone have found" in vectors.stderr
    with caplog.at_level(logging.WARNING, "advchunk"):
        small = run("docs", "steep leaves", "-b", "1", "--mode", "lexical")
    assert (small.exit_code, small.stderr) == (1, "")
    assert "does not fit into a budget of 1 tokens" in caplog.text


def test_methods_and_sizes_are_those_of_other_commands(folder):
    question = "How long are the leaves steeped?"
    row, *_ = passages_of("docs/tea.md", question, "--whole-chunks", "-p", "max_tokens=12", "-b", "12")
    chunks = RecursiveChunker(max_tokens=12).chunk((folder / "tea.md").read_text())
    assert row["text"] == chunks[1].text
    (row,) = passages_of("docs/tea.md", question, "-m", "mst-semantic", "--embedder", "hybrid", "-b", "20")
    assert "two minutes" in row["text"]
    (row,) = passages_of("docs/tea.md", question, "-m", "hierarchical", "--tokenizer", "words")
    assert row["tokens"] == len(row["text"].split())


@pytest.mark.usefixtures("folder")
def test_the_embedder_is_that_of_the_search(monkeypatch):
    texts, embed = [], StaticEmbedder.embed

    def recorded(self, items):
        texts.extend(items)
        return embed(self, items)

    monkeypatch.setattr(StaticEmbedder, "embed", recorded)
    passages_of("docs/tea.md", "steep", "--mode", "lexical")
    assert texts == []
    passages_of("docs/tea.md", "steep")
    assert "steep" in texts


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_an_embedder_that_cannot_be_had_is_named():
    assert "no-such-model" in run("docs/tea.md", "steep", "--embedder", "no-such-model").stderr


def test_an_index_is_read_instead_of_files_that_have_not_changed(folder, reads):
    args = ["docs", "How long to steep?", "--mode", "lexical", "--index", "my.index", "-f", "json"]
    first = run(*args)
    assert first.stderr == "advchunk: files of my.index: 0 unchanged, 3 read, 0 removed\n"
    assert len(reads) == 3
    again = run(*args)
    assert again.stderr == "advchunk: files of my.index: 3 unchanged, 0 read, 0 removed\n"
    assert (len(reads), again.stdout) == (3, first.stdout)
    assert run(*args[1:]).stdout == first.stdout  # without files
    (folder / "tea.md").write_text("# Tea\n\nSteep the leaves for nine minutes.\n")
    (folder / "rows.jsonl").unlink()
    changed = run(*args)
    assert changed.stderr == "advchunk: files of my.index: 1 unchanged, 1 read, 1 removed\n"
    assert reads[3:] == [str(Path("docs/tea.md"))]
    assert "nine minutes" in changed.stdout
    assert "two minutes" not in changed.stdout
    assert run("docs", "What is rum?", *args[2:]).exit_code == 1


@pytest.mark.usefixtures("folder")
def test_an_index_is_checked():
    run("index", "docs", "--into", "my.index", "--mode", "lexical", command=())
    result = run("index", "check", "my.index", command=())
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.fullmatch(r"my\.index: \d+ chunks of 3 documents are whole\n", result.stdout)
    with closing(sqlite3.connect("my.index", isolation_level=None)) as file:
        file.execute("UPDATE chunks SET value = zeroblob(9) WHERE number = 1")
    result = run("index", "check", "my.index", command=())
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(r"advchunk: .*: its chunks, text, or vectors are damaged\n", result.stderr)
    assert "--into must name the file of the index" in run("index", "docs", command=()).stderr


@pytest.mark.usefixtures("folder")
def test_files_of_several_calls_are_in_one_index(reads):
    run("index", "docs/more", "--into", "my.index", command=())
    result = run("index", "docs/tea.md", "--into", "my.index", command=())
    assert result.stderr == "advchunk: files of my.index: 0 unchanged, 1 read, 0 removed\n"
    assert re.fullmatch(r"my\.index: \d+ chunks of 2 documents\n", result.stdout)
    assert StoredRetriever("my.index").documents == [str(Path("docs/more/boats.html")), str(Path("docs/tea.md"))]
    assert len(reads) == 2
    assert "two minutes" in run("How long to steep?", "--index", "my.index").stdout
    assert "--index must name an index that exists, got 'other.index'" in run("steep", "--index", "other.index").stderr


@pytest.mark.parametrize("more", [["-p", "max_tokens=50"], ["--markup", "plain"]])
@pytest.mark.usefixtures("folder")
def test_files_are_read_again_with_other_settings(reads, more):
    args = ["docs", "How long to steep?", "--mode", "lexical", "--index", "my.index"]
    run(*args)
    assert "0 unchanged, 3 read" in run(*args, *more).stderr
    assert len(reads) == 6
    assert "3 unchanged" in run(*args, *more).stderr


@pytest.mark.usefixtures("folder")
def test_an_index_of_another_kind_or_damaged_is_not_used():
    args = ["docs", "How long to steep?", "--mode", "lexical", "--index", "my.index"]
    run(*args)
    for more, says in (["--mode", "hybrid"], "mode must be one of"), (["--language", "de"], "language must be 'auto'"):
        result = run(*args, *more)
        assert (result.exit_code, says in result.stderr) == (2, True)
    result = run(*args, "-m", "graphrag", "--experimental")
    assert "an index must be of a method with chunks of one level" in result.stderr
    Path("my.index").write_text("Tea. " * 1000)
    assert "must be an index that a retriever has saved" in run(*args).stderr


@pytest.mark.usefixtures("folder")
def test_an_interrupted_call_leaves_the_index(monkeypatch):
    args = ["docs", "How long to steep?", "--index", "my.index"]
    answer = run(*args).stdout
    Path("docs/tea.md").write_text("Steep.")

    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(StoredRetriever, "change", interrupted)
        assert run(*args).exit_code == 1
    assert run(*args[1:]).stdout == answer
    assert "2 unchanged, 1 read" in run(*args).stderr
    assert run(*args).stdout != answer


@pytest.mark.usefixtures("folder")
def test_many_chunks_are_written_in_batches(monkeypatch):
    monkeypatch.setattr(library, "_BATCH", 1)
    written, change = [], StoredRetriever.change
    monkeypatch.setattr(
        StoredRetriever, "change", lambda *args, **options: written.append(1) or change(*args, **options)
    )
    run("index", "docs", "--into", "my.index", command=())
    assert len(written) == 3
    assert len(StoredRetriever("my.index").documents) == 3


@pytest.mark.usefixtures("folder")
def test_a_document_that_moves_to_another_file_is_there_once():
    Path("docs/more.jsonl").write_text('{"id": "rum", "text": "Rum is old."}\n')
    result = run("index", "docs", "--into", "my.index", command=())
    assert "rum: another document has the same name" in result.stderr
    Path("docs/rows.jsonl").write_text('{"id": "gin", "text": "Gin is clear."}\n')
    assert run("index", "docs", "--into", "my.index", command=()).exit_code == 0
    stored = StoredRetriever("my.index")
    assert sorted(stored.documents)[2:] == ["gin", "rum"]
    assert stored.search("rum", 1)[0].chunk.text == "Rum is old."


@pytest.mark.usefixtures("folder")
def test_an_index_among_the_documents_is_not_read(reads):
    for _ in range(2):
        run("docs", "docs/my.txt", "steep", "--index", "docs/my.txt")
    assert len(reads) == 3


@pytest.mark.usefixtures("folder")
def test_what_failed_and_standard_input_are_read_again():
    Path("docs/rows.jsonl").write_text('{"id": "rum", "text": "Rum."}\nno\n')
    args = ["docs", "-", "What is rum?", "--index", "kept"]
    for text in ("Rum is sweet.", "Rum is old."):
        result = run(*args, stdin=text)
        assert result.exit_code == 1
        assert text in result.stdout
        assert f"{Path('docs/rows.jsonl')}:2: a line must be JSON" in result.stderr
    assert "2 unchanged, 2 read, 0 removed" in result.stderr


def test_the_guide_shows_what_is_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    guide = (ROOT / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```bash\n(advchunk ask [^\n]*)\n```\n```text\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    assert len(shown) == 1
    for line, output in shown:
        assert run(*shlex.split(line)[2:]).stdout == output


def test_make_demo_ends_with_a_question(monkeypatch):
    monkeypatch.chdir(ROOT)
    *_, line = re.findall(r"^\t\$\(BIN\)/advchunk (ask .*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    result = run(*shlex.split(line)[1:])
    assert result.exit_code == 0
    assert "| Late      |             19:10 |           20:00 | Friday, Saturday |" in result.stdout
