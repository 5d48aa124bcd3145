import json
import os
import re
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from advchunk import Document, RecursiveChunker
from advchunk.chunkers import catalog
from advchunk.cli import files, main
from advchunk.models.static import StaticEmbedder
from advchunk.readers.sources import Inventory, read_sources
from memory import peaks
from pdfs import Paper
from stand_ins import STAND_INS

TOWN = Path(__file__).parents[1] / "data" / "harbour_town.md"


def run(*args: str | Path, stdin: str | bytes = "") -> Result:
    separate = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}  # click < 8.2
    return CliRunner(**separate).invoke(main, [str(arg) for arg in args], input=stdin)


def python_m(*args: str | Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "advchunk", *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env={**os.environ, **env})


def lines(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def two_files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.md", tmp_path / "b.md"]
    paths[0].write_text("# Cats\n\nCats purr.\n\nJudges sit in court.\n", encoding="utf-8")
    paths[1].write_text("Boats are moored in the harbour.\n", encoding="utf-8")
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in catalog.names() if catalog.required_model(name) is None])
def test_jsonl_equals_the_output_of_the_chunker(method):
    params = STAND_INS.get(method, {})
    pairs = [part for name, value in params.items() for part in ("-p", f"{name}={json.dumps(value)}")]
    result = run("chunk", TOWN, "-m", method, "-f", "jsonl", "--experimental", *pairs)
    text = TOWN.read_text(encoding="utf-8")
    rows = lines(result.output)
    assert result.exit_code == 0
    assert all(row["document"] == str(TOWN) for row in rows)
    assert all(row["text"] == "".join(text[a:b] for a, b in row["spans"]) for row in rows)
    chunks = catalog.create(method, experimental=True, **params).chunk(Document(text, str(TOWN)))
    assert [(row["index"], row["text"], row["tokens"], row["metadata"]) for row in rows] == [
        (c.index, c.text, c.tokens, c.metadata) for c in chunks
    ]


def test_chunks_have_colors_in_a_terminal(two_files):
    args = ["chunk", "-m", "sliding-window", "--max-tokens", "4", str(two_files[0])]
    colored = CliRunner().invoke(main, args, color=True).stdout
    assert len(set(re.findall(r"\x1b\[48;5;(\d+)m", colored))) > 1
    chunks = slice(-3)  # the last lines have the time
    assert click.unstyle(colored).splitlines()[chunks] == run(*args).stdout.splitlines()[chunks]
    assert "\x1b" not in CliRunner(env={"NO_COLOR": "1"}).invoke(main, args, color=True).stdout


def write_jsonl(path, number, length=40):
    filler = "Cats purr. " * (length // 11)
    rows = [{"id": i, "text": f"Document {i}. {filler}\n\nIts end.", "year": 2000 + i} for i in range(number)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return rows


def test_each_line_of_a_jsonl_file_is_a_document(tmp_path):
    path = tmp_path / "docs.jsonl"
    documents = [Document(row["text"], str(row["id"]), metadata={"year": row["year"]}) for row in write_jsonl(path, 3)]
    options = ["-m", "recursive", "-p", "max_tokens=9", "-f", "jsonl"]
    rows = lines(run("chunk", path, *options).output)
    chunks = [
        (document.id, c.id, c.text, c.metadata)
        for document, group in zip(documents, RecursiveChunker(max_tokens=9).chunk_many(documents), strict=True)
        for c in group
    ]
    assert [(row["document"], row["id"], row["text"], row["metadata"]) for row in rows] == chunks
    assert run("chunk", "--jsonl", *options, stdin=path.read_bytes()).output == run("chunk", path, *options).output


def test_bad_lines_are_reported_and_skipped(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text(
        '{"id": "a", "text": "Cats."}\n\nno\n{"id": "b"}\n{"text": "x"}\n{"id": "a", "text": "Again."}\n'
        f'{{"id": true, "text": "x"}}\n{"[" * 99_999}\n{{"id": {"1" * 9_999}, "text": "x"}}\n'
    )
    result = run("chunk", path, tmp_path / "none.jsonl", "-m", "recursive", "-f", "jsonl")
    assert [row["document"] for row in lines(result.stdout)] == ["a", "b", f"{path}:5"]
    assert result.exit_code == 1
    messages = result.stderr.splitlines()
    assert len(messages) == 6
    for expected in (
        f"advchunk: {path}:3: a line must be JSON (Expecting value: line 1 column 1 (char 0))",
        "advchunk: a: another document has the same name",
        f"""advchunk: {path}:7: a line must have an "id", text or a whole number, got True""",
    ):
        assert expected in messages


def test_a_folder_has_files_of_documents_too(tmp_path):
    write_jsonl(tmp_path / "docs.jsonl", 2)
    (tmp_path / "a.md").write_text("Cats.")
    (tmp_path / "gone.md").symlink_to(tmp_path / "none.md")
    result = run("chunk", tmp_path, "-m", "recursive", "-f", "jsonl")
    assert [row["document"] for row in lines(result.stdout)] == [str(tmp_path / "a.md"), "0", "1"]
    assert result.stderr == "advchunk: 3 files: 2 read (.jsonl 1, .md 1), 1 skipped (a link: .md 1)\n"


def test_a_folder_without_a_file_that_can_be_read_is_said(tmp_path):
    (tmp_path / "cup.png").write_bytes(b"\x89PNG")
    result = run("chunk", tmp_path, "-m", "recursive")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{tmp_path}: no file that can be read" in result.stderr
    assert "1 skipped (no reader: .png 1)" in result.stderr


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_the_output_of_earlier_calls_is_not_read(tmp_path, form):
    (tmp_path / "tea.md").write_text("# Tea\n\nGreen.")
    outputs = [tmp_path / f"{name}.{form}" for name in ("one", "two", "one")]
    for out in outputs:
        assert run("chunk", tmp_path, "-m", "recursive", "-f", form, "-o", out).exit_code == 0
    assert outputs[0].read_text() == outputs[1].read_text()
    page = tmp_path / "page.html"
    assert run("view", tmp_path, "-m", "recursive", "-o", page).exit_code == 0
    seen = page.read_text()
    assert run("view", tmp_path, "-m", "recursive", "-o", tmp_path / "other.html").exit_code == 0
    assert (tmp_path / "other.html").read_text() == seen


@pytest.mark.parametrize("command", ["chunk", "view"])
def test_a_document_is_not_overwritten(tmp_path, command):
    path = tmp_path / "tea.md"
    path.write_text("# Tea")
    result = run(command, path, "-m", "recursive", "-o", tmp_path / "." / "tea.md")
    assert (result.exit_code, path.read_text()) == (2, "# Tea")
    assert "--out must not be a file that is read" in result.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="workers are slow to start")
def test_workers_write_what_one_process_writes(tmp_path):
    path, bad = tmp_path / "docs.jsonl", tmp_path / "bad.txt"
    write_jsonl(path, 3)
    bad.write_bytes(b"ab\xff\0")
    args = ["chunk", path, "-", bad, TOWN, "-m", "recursive", "-f", "json"]
    alone, together = (run(*args, "--workers", workers, stdin="Tea.") for workers in ("1", "2"))
    assert (together.stdout, together.stderr, together.exit_code) == (alone.stdout, alone.stderr, 1)
    assert len(json.loads(together.stdout)) == 5
    refused = run("chunk", path, "-m", "graphrag", "--experimental", "--workers", "2")
    assert "workers must be 1 for graphrag" in refused.stderr
    assert "workers must be a whole number >= 1, and at most 1024, got 1025" in run("chunk", "--workers", "1025").stderr


@pytest.mark.parametrize("cut_off", [0, 9])
def test_an_interrupted_run_is_resumed(tmp_path, monkeypatch, two_files, cut_off):
    path, out, asked = tmp_path / "docs.jsonl", tmp_path / "chunks.jsonl", []
    write_jsonl(path, 5)
    args = ["chunk", two_files[0], path, two_files[1], "-m", "recursive", "-p", "max_tokens=9", "-f", "jsonl"]
    whole = run(*args).output
    plan = RecursiveChunker.plan

    def interrupted(self, document):
        asked.append(document.text)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return plan(self, document)

    monkeypatch.setattr(RecursiveChunker, "plan", interrupted)
    resumable = [*args, "-o", out, "--resume"]
    assert run(*resumable).exit_code == 1
    (partial,) = tmp_path.glob("chunks.jsonl.*.partial")
    content = partial.read_bytes()
    assert whole.encode().startswith(content)
    assert content
    partial.write_bytes(content[: len(content) - cut_off])
    asked[:] = [""] * 9
    assert run(*resumable).exit_code == 0
    assert out.read_text(encoding="utf-8") == whole
    assert not list(tmp_path.glob("*.partial"))
    assert len(asked) - 9 < 5  # what was done is not done again


def test_resuming_needs_lines_in_a_file_and_the_same_settings(tmp_path):
    out = tmp_path / "chunks.jsonl"
    for args in (["-o", out], ["-f", "jsonl"]):
        assert "--resume needs --format jsonl and --out" in run("chunk", TOWN, "--resume", *args).stderr
    assert "Is a directory" in run("chunk", TOWN, "--resume", "-f", "jsonl", "-o", tmp_path).stderr
    (tmp_path / "chunks.jsonl.01234567.partial").touch()
    result = run("chunk", TOWN, "-m", "recursive", "--resume", "-f", "jsonl", "-o", out)
    assert result.exit_code == 2
    assert "was begun with other settings" in result.stderr


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_lines(tmp_path):
    def chunk(number):
        path = tmp_path / f"{number}.jsonl"
        write_jsonl(path, number, 20_000)
        args = ["chunk", str(path), "-m", "recursive", "-f", "jsonl", "-o", str(tmp_path / "out")]
        return f"main({args}, standalone_mode=False)"

    few, many = peaks("from advchunk.cli import main", chunk(10), chunk(40))
    assert many - few < 30 * 20_000 / 2


def test_levels_are_a_list_of_names_and_sizes():
    levels = ["document", 64, "sentence"]
    rows = lines(run("chunk", TOWN, "-m", "hierarchical", "-f", "jsonl", "-p", f"levels={json.dumps(levels)}").output)
    chunks = catalog.create("hierarchical", levels=levels).chunk(Document(TOWN.read_text(encoding="utf-8"), str(TOWN)))
    assert [(row["level"], row["parent"], row["id"]) for row in rows] == [(c.level, c.parent, c.id) for c in chunks]
    assert "a level must be" in run("chunk", TOWN, "-m", "hierarchical", "-p", 'levels=["chapter"]').stderr


def test_files_are_one_corpus(two_files):
    names = [*map(str, two_files)]
    rows = lines(run("chunk", *names, "-m", "graphrag", "-f", "jsonl", "--experimental").output)
    documents = [Document(path.read_text(encoding="utf-8"), str(path)) for path in two_files]
    chunks = catalog.create("graphrag", experimental=True).chunk_corpus(documents).chunks
    assert [(row["id"], row["index"], row["parent"], row["level"]) for row in rows] == [
        (c.id, c.index, c.parent, c.level) for c in chunks
    ]
    shown = run("chunk", *names, "-m", "graphrag", "--experimental").output
    assert "in [0]" in shown
    assert "graphrag is experimental" in run("chunk", *names, "-m", "graphrag").stderr
    assert any("any release" in warning for warning in catalog.describe("graphrag")["warnings"])


def test_distant_passages_of_the_demo_are_put_together():
    published = ["chunk", TOWN, "-p", "layout_weight=0"]
    rows = lines(run(*published, "-f", "jsonl").output)
    assert any(len(row["spans"]) > 1 for row in rows)
    assert "[...]" in run(*published).output


def test_json_lists_each_document(two_files):
    rows = json.loads(run("chunk", *two_files, "-f", "json").output)
    assert [row["document"] for row in rows] == [str(path) for path in two_files]
    assert [c["text"] for c in rows[1]["chunks"]] == ["Boats are moored in the harbour.\n"]
    assert set(rows[1]["chunks"][0]) == {
        "index", "id", "text", "spans", "tokens", "context", "level", "parent", "metadata", "source_spans",
    }  # fmt: skip


def test_text_shows_each_chunk_and_a_summary(two_files):
    output = run("chunk", *two_files, "-m", "recursive", "-p", "max_tokens=8", "-p", "include_context=true").output
    first, rest = output.split("\n", 1)
    assert first == "[0]  0-20  6 tokens  Cats"
    assert "  > Cats\n" in rest
    assert "    Judges sit in court.\n" in rest
    assert f"{two_files[1]}: 1 chunk, 33 characters, tokens min 8 mean 8 max 8, " in rest
    assert "\x1b" not in output


def test_standard_input_is_read_without_files_and_for_a_dash():
    for args in ((), ("-",)):
        (row,) = lines(run("chunk", *args, "-f", "jsonl", stdin="Über naïve cafés.").output)
        assert (row["document"], row["text"]) == ("stdin", "Über naïve cafés.")


@pytest.mark.slow
@pytest.mark.parametrize("detector", ["null", "auto"])
def test_detector_for_pdfs_is_a_parameter(detector, tmp_path):
    path = tmp_path / "tea.pdf"
    path.write_bytes(Paper().page().text(60, 300, "Green tea.").data())
    options = ["-m", "layout-aware", "--experimental", "-p", f"detector={detector}"]
    assert "Green tea." in run("chunk", path, *options).stdout
    assert "detector must be" in run("chunk", path, *options[:-1], "detector=9").stderr


def test_unreadable_file_is_reported_and_skipped(two_files, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ab\xff\0")
    (tmp_path / "empty").mkdir()
    result = run("chunk", two_files[0], tmp_path / "empty", tmp_path / "none", bad, two_files[1], "-f", "json")
    assert [row["document"] for row in json.loads(result.stdout)] == [str(path) for path in two_files]
    assert json.loads(run("chunk", tmp_path / "none", "-f", "json").stdout) == []
    assert run("chunk", "A text. " * 99).stderr.endswith("File name too long\n")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"advchunk: {tmp_path / 'none'}: No such file or directory",
        f"advchunk: {bad}: text files must be UTF-8 unless encoding is given, got byte 0xff at 2",
    ]


def fail_on_boats(_self, texts):
    if any("Boats" in text for text in texts):
        msg = "no\nboats"
        raise RuntimeError(msg)
    return np.eye(len(texts), 8, dtype=np.float32)


def test_file_that_fails_to_chunk_is_reported_and_skipped(two_files, tmp_path, monkeypatch):
    monkeypatch.setattr(StaticEmbedder, "embed", fail_on_boats)
    boats = tmp_path / "boats.md"
    boats.write_text("Boats.\n\nCats.\n")
    result = run("chunk", boats, tmp_path / "none", two_files[0], "-m", "mst-semantic", "-f", "json")
    assert [row["document"] for row in json.loads(result.stdout)] == [str(two_files[0])]
    assert f"advchunk: {boats}: RuntimeError: no boats\n" in result.stderr
    assert result.exit_code == 1


def test_fallback_uses_the_same_sizes_and_ignores_the_timeout_of_the_method(tmp_path, monkeypatch):
    def slow(_self, texts):
        time.sleep(0.2)
        return np.eye(len(texts), 8, dtype=np.float32)

    monkeypatch.setattr(StaticEmbedder, "embed", fail_on_boats)
    boats = tmp_path / "boats.md"
    boats.write_text("Boats sail.\n\nCats sleep.\n")
    result = run("chunk", boats, "--fallback", "recursive", "-p", "max_tokens=3", "-f", "jsonl")
    rows = lines(result.stdout)
    assert [row["text"].strip() for row in rows] == ["Boats sail.", "Cats sleep."]
    assert {row["metadata"]["fallback_from"] for row in rows} == {"mst-semantic"}
    monkeypatch.setattr(StaticEmbedder, "embed", slow)
    args = ["chunk", boats, "-p", "timeout=0.1", "-f", "jsonl"]
    assert "advchunk: " in run(*args).stderr
    row, *_ = lines(run(*args, "--fallback", "semantic-threshold").stdout)
    assert row["metadata"]["fallback_from"] == "mst-semantic"


@pytest.mark.parametrize(
    ("name", "more", "sections"),
    [
        ("a.md", [], True),
        ("a.RMD", [], True),
        ("a.py", [], False),
        ("a.py", ["-p", "markup=markdown"], True),
        ("a.md", ["-p", "markup=plain"], False),
    ],
)
def test_file_name_decides_on_markdown_unless_markup_is_set(tmp_path, name, more, sections):
    path = tmp_path / name
    path.write_text("# Comment\n\nOne is here.\n\nTwo is here.\n")
    args = ["chunk", path, "-m", "recursive", "-p", "max_tokens=8", "-p", "include_context=true", "-f", "jsonl"]
    assert ("Comment" in lines(run(*args, *more).output)[-1]["context"]) is sections


def test_reading_from_a_terminal_prints_a_notice(monkeypatch, capsys):
    read = TOWN.open("rb")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True, buffer=read))
    with read:
        (name,) = files.list_inputs([], Inventory())
        (source,) = read_sources(name, Inventory())
        (document,) = files.read_input(RecursiveChunker(), source, by_name=True, encoding=None)
        assert document.text == TOWN.read_text(encoding="utf-8")
    assert capsys.readouterr().err == "advchunk: reading standard input\n"


def test_files_share_the_batches_of_the_model(tmp_path, monkeypatch):
    asked = []

    def embed(_self, texts):
        asked.append(len(texts))
        return np.eye(len(texts), 64, dtype=np.float32)

    monkeypatch.setattr(StaticEmbedder, "embed", embed)
    paths = [tmp_path / f"{i}.md" for i in range(10)]
    for i, path in enumerate(paths):
        path.write_text(f"One is {i}.\n\nTwo is {i}.\n")
    assert run("chunk", *paths, "-m", "mst-semantic").exit_code == 0
    assert asked == [20]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-m", "recursiv"], "did you mean 'recursive'?"),
        (["-p", "max_tokns=3"], "did you mean 'max_tokens'?"),
        (["-p", "chunk_size=300"], "here this is max_tokens"),
        (["--max-tokens", "9", "-p", "max_tokens=9"], "max_tokens must be set once, as an option or with -p"),
        (["--chunk-size", "9"], "no such option: --chunk-size; here this is max_tokens"),
        (["-m", "mst-semantic", "--threshold", "0.5"], "no such option: --threshold; pass it as -p threshold=VALUE"),
        (["--max-token", "9"], "max_token"),
        (["-m", "mst-semantic", "--cache", "redis://host:port"], "the URL of a cache must be redis://"),
        (["-p", "max_tokens"], "NAME=VALUE"),
        (["-p", "max_tokens=0"], "max_tokens must be >= 1, got 0"),
        (["-p", "markup=wordperfect"], "markup must be one of auto, markdown, plain"),
        (["-p", "embedder=minilm"], "use --embedder"),
        (["-m", "layout-aware", "-p", "inner=x"], "Python only"),
        (["-m", "recursive", "--embedder", "minilm"], "recursive does not embed"),
        (["--fallback", "recursiv"], "did you mean 'recursive'?"),
    ],
)
def test_invalid_options_are_explained(args, says):
    result = run("chunk", TOWN, *args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""


def test_options_set_parameters():
    options = ["--max-tokens", "40", "--min-tokens", "5", "--overlap", "9", "--markup", "plain", "--language", "de"]
    params = {"max_tokens": 40, "min_tokens": 5, "overlap_tokens": 9, "markup": "plain", "language": "de"}
    pairs = {"n_segments": None, "gamma": 0, "granularity": "sentence", "contiguous": True}  # JSON, or strings
    assignments = ["n_segments=null", "gamma=0", "granularity=sentence", "contiguous=true"]
    rest = [part for pair in assignments for part in ("-p", pair)]
    for name, args, own in (("recursive", options, params), ("mst-semantic", rest, pairs)):
        rows = lines(run("chunk", TOWN, "-m", name, "-f", "jsonl", *args).output)
        chunks = catalog.create(name, **own).chunk(TOWN.read_text(encoding="utf-8"))
        assert [row["text"] for row in rows] == [c.text for c in chunks]


def test_explain_gives_the_reason_and_score_of_each_cut():
    args = ["chunk", TOWN, "-m", "semantic-threshold", "--explain"]
    *cut, last = (row["metadata"] for row in lines(run(*args, "-f", "jsonl").output))
    assert all(metadata["cut"] for metadata in cut)
    assert "cut" not in last
    assert f"  -- {cut[0]['cut']} {cut[0]['cut_score']}\n" in run(*args).output


def test_tokenizer_and_cache_are_passed_on(tmp_path):
    cache = tmp_path / "cache.db"
    text = "One two three.\n\nFour five.\n"
    rows = lines(
        run("chunk", "--tokenizer", "words", "--cache", cache, "-m", "mst-semantic", "-f", "jsonl", stdin=text).output
    )
    assert sum(row["tokens"] for row in rows) == 5
    assert cache.stat().st_size > 0


def test_out_file_equals_printed_output(two_files, tmp_path):
    out = tmp_path / "out" / "chunks.jsonl"
    assert run("chunk", *two_files, "-o", out).exit_code == 1
    out.parent.mkdir()
    assert run("chunk", *two_files, "-f", "jsonl", "-o", out).output == ""
    assert out.read_text(encoding="utf-8") == run("chunk", *two_files, "-f", "jsonl").output
    assert list(out.parent.iterdir()) == [out]


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666])
def test_out_file_keeps_its_permissions_and_links_to_it(two_files, tmp_path, permissions):
    out, link = tmp_path / "chunks.txt", tmp_path / "link"
    out.write_text("old")
    out.chmod(permissions)
    link.symlink_to(out)
    assert run("chunk", *two_files, "-o", link).exit_code == 0
    assert "Cats purr." in out.read_text()
    assert (link.readlink(), out.stat().st_mode & 0o777) == (out, permissions)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_ended_process_leaves_no_partial_output(tmp_path, name):
    out = tmp_path / "chunks.txt"
    command = [sys.executable, "-m", "advchunk", "chunk", "-", "-m", "recursive", "-o", str(out)]
    number = getattr(signal, name)
    handler = signal.signal(number, signal.SIG_DFL)  # a shell may have started the tests to ignore it
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(number, handler)
    with process:
        while not list(tmp_path.iterdir()):  # it opens the file, then waits for its input
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        process.communicate()
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_list_shows_every_method_of_a_group():
    rows = json.loads(run("list", "-f", "json").output)
    assert [row["name"] for row in rows] == catalog.names()
    printed = run("list", "--group", "stable").output.splitlines()
    assert [line.split()[:2] for line in printed] == [[name, "stable"] for name in catalog.names("stable")]
    assert all(line.endswith(catalog.summary(line.split()[0])) for line in printed)
    assert "`" not in run("list").output


@pytest.mark.parametrize("name", catalog.names())
def test_describe_shows_default_and_description_of_every_parameter(name):
    method = catalog.describe(name)
    output = run("describe", name).output
    for param, default in method["parameters"].items():
        _, _, after = output.partition(f"\n  {param} = {json.dumps(default)}\n")
        assert after.startswith("    ")
        assert not after.startswith("    as in")
        assert after.partition("\n")[0].strip()
    for preset, values in method["presets"].items():
        settings = ", ".join(f"{param} = {json.dumps(value)}" for param, value in values.items())
        assert f"\n  {preset}: {settings}\n" in output
    assert json.loads(run("describe", name, "-f", "json").output) == method


def test_help_shows_examples():
    assert "\n    advchunk chunk notes.md\n" in run("--help").output


def test_python_m_is_the_command():
    assert python_m("--version").stdout.split()[0] == b"advchunk"
    done = python_m("chunk", "-f", "jsonl", stdin="→ déjà vu".encode(), PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["text"] == "→ déjà vu"
    assert python_m("chunk", "no such file").returncode == 1
    assert python_m("chunk", "--no-such-option").returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_a_file_name_that_is_not_utf8_is_written_escaped(tmp_path):
    path = os.fsencode(tmp_path) + b"/na\xffme.md"
    Path(os.fsdecode(path)).write_text("Cats.")
    done = python_m("chunk", os.fsdecode(path), "-f", "jsonl")
    assert os.fsencode(json.loads(done.stdout)["document"]) == path


def test_closed_pipe_prints_no_traceback(tmp_path):
    path = tmp_path / "long.md"
    path.write_text("Cats purr and sleep.\n\n" * 20_000)  # more than a pipe holds
    command = [sys.executable, "-m", "advchunk", "chunk", str(path), "-m", "recursive"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_importing_the_package_does_not_import_click_or_tqdm():
    code = "import sys, advchunk; sys.exit(bool({'click', 'tqdm'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_encoding_is_read_from_files_and_standard_input(tmp_path):
    (path := tmp_path / "a.txt").write_bytes("Thé".encode("cp1252"))
    for source, stdin in ((path, ""), ("-", path.read_bytes())):
        result = run("chunk", source, "-m", "recursive", "-f", "jsonl", "--encoding", "cp1252", stdin=stdin)
        assert json.loads(result.stdout)["text"] == "Thé"
    assert "must be ascii, got byte 0xe9" in run("chunk", path, "-m", "recursive", "--encoding", "ascii").stderr


def page_data(path):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)[1])


def test_view_shows_the_chunks_of_every_method_and_file(two_files, tmp_path):
    page = tmp_path / "page.html"
    done = run(
        "view", *two_files, "-m", "recursive,optimal-semantic", "--max-tokens", 40, "--embedder", "hybrid", "-o", page
    )
    assert (done.exit_code, done.stdout) == (0, f"{page}\n")
    data = page_data(page)
    assert data["methods"] == ["recursive", "optimal-semantic"]
    assert [document["name"] for document in data["documents"]] == list(map(str, two_files))
    chunker = RecursiveChunker(max_tokens=40)
    chunks = chunker.chunk(chunker.read_documents(str(two_files[0]))[0])
    assert [chunk["id"] for chunk in data["documents"][0]["methods"][0]["chunks"]] == [chunk.id for chunk in chunks]


def test_view_shows_what_answers_a_question(tmp_path):
    (source := tmp_path / "tea.md").write_text("Boil the water.\n\nWait two minutes. Pour it.\n", "utf-8")
    page = tmp_path / "page.html"
    args = "-m", "recursive", "--tokenizer", "words", "--question", "How long should I wait?", "--budget", 3, "-o", page
    assert run("view", source, *args).exit_code == 0
    data = page_data(page)
    assert data["methods"] == ["passages", "recursive"]
    (passage,) = data["documents"][0]["methods"][0]["chunks"]
    assert data["documents"][0]["text"][slice(*passage["spans"])] == "Wait two minutes."
    assert "1 passage, 3 of 3 tokens" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-m", "recursive,texttiling"], "texttiling is experimental"),
        (["-m", "recursive", "--embedder", "hybrid"], "options must belong to recursive"),
        (["-m", ","], "--method must name a method"),
        (["-m", "recursiv"], "recursive"),
        (["-p", "max_token=3"], "max_token"),
    ],
)
def test_view_explains_invalid_options(two_files, tmp_path, args, says):
    page = tmp_path / "page.html"
    done = run("view", two_files[0], "-o", page, *args)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not page.exists()


def test_view_names_what_cannot_be_read_or_written(two_files, tmp_path):
    page, binary = tmp_path / "page.html", tmp_path / "b.bin"
    page.write_text("old")
    binary.write_bytes(b"\xb6\xff\0")
    (tmp_path / "empty").mkdir()
    for source, out, says in (
        (tmp_path / "empty", page, "no file that can be read\n"),
        (tmp_path / "none.md", page, "No such file"),
        (binary, page, f"{binary}: text files must be UTF-8"),
        (two_files[0], tmp_path / "none" / "page.html", "page.html: No such file"),
    ):
        done = run("view", source, "-o", out)
        assert (done.exit_code, says in done.stderr, page.read_text()) == (1, True, "old")
    done = run("view", two_files[0], binary, "-o", page)
    assert (done.exit_code, f"{binary}: text files" in done.stderr) == (1, True)
    assert two_files[0].name in page.read_text(encoding="utf-8")


_SEARCHED = "--chunkers recursive --number 4 --quiet --search lexical"
COMMANDS = {
    "ask": "a.md dogs --mode lexical", "chunk": "a.md --method recursive", "describe": "recursive", "list": "",
    "evaluate": f"--data corpus {_SEARCHED} --out report", "index": "a.md --into my.index --mode lexical",
    "questions": "corpus --number 2 --out held", "recommend": f"corpus {_SEARCHED}",
    "view": "a.md --method recursive --out view.html",
}  # fmt: skip
WRONG = (
    "", "none/a.md", "corpus", "a.md/b", "a\0b", "é" * 2000, "loop", "utf16.md", "bytes.md", "deep.json",
    "/proc/a", "-1", "0", "9" * 20, "1e400", "nan", ",", "x=1", "http://me:PLANTED@h/x",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_wrong_argument_is_told_in_a_clear_line_or_means_something(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prose = "\n\n".join(f"The cat number {i} sleeps through most of the long bright day. " * 3 for i in range(9))
    texts = {"corpus/a.md": prose.encode(), "a.md": b"# Tea\n\nDogs bark.", "bytes.md": bytes(range(256))}
    for path, data in {**texts, "utf16.md": "Tea. Boil".encode("utf-16"), "deep.json": b"[" * 5000}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    (tmp_path / "loop").symlink_to("loop")
    right = COMMANDS[name].split()
    assert run(name, *right).exit_code == 0
    options = [o for o in main.get_command(click.Context(main), name).params if isinstance(o, click.Option)]
    wrong = [[*right[:i], value, *right[i + 1 :]] for i, own in enumerate(right) if own[:2] != "--" for value in WRONG]
    for own in [*wrong, *([*right, o.opts[-1], value] for o in options if not o.is_flag for value in WRONG)]:
        result = run(name, *own)
        lines = result.stderr.splitlines()
        assert result.exception is None or isinstance(result.exception, SystemExit), own
        assert result.exit_code == 0 or any(lines), own
        assert max(map(len, ["", *lines])) < 1200, own
        assert "PLANTED" not in result.output, own
