"""Small files that would take much are refused, with the rule, the value, and how to raise it; others are read."""

import bz2
import io
import json
import tarfile

import pytest

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.errors import Unreadable
from advchunk.readers import budget, html
from advchunk.readers.data import objects, separated_values
from growing import check_growth, repeated

DEEP = {
    "a.yaml": "[" * 50_000 + "]" * 50_000,
    "b.yaml": "{a: " * 50_000 + "}" * 50_000,
    "c.yaml": "- " * 20_000 + "a",
    "d.yaml": "a: &a [*a]",
    "e.json": "[" * 250 + "]" * 250,
    "f.xml": "<a>" * 250 + "</a>" * 250,
}
SMALL = {
    **DEEP,
    "g.csv": ",".join(map(str, range(16_000))) + "\n" + "1," * 15_999 + "1\n",
    "h.html": f"<p {'a=b ' * 10_001}>",
}


def tar(name, kind=tarfile.REGTYPE, size=64 * 2**30):
    """Return the beginning of an archive with a file that is said to be large, with a mebibyte of it."""
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return bz2.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(2**20))


@pytest.mark.parametrize("name", SMALL)
def test_what_takes_too_much_is_refused_and_the_message_says_how_to_raise_it(name, tmp_path):
    path = tmp_path / name
    path.write_text(SMALL[name], encoding="utf-8")
    with pytest.raises(
        Unreadable, match=r"at most [\d,]+ \w+.*(?:, got \d+|column \d+); ADVCHUNK_MAX_[A-Z]+ raises it"
    ):
        read_file(path)


@pytest.mark.parametrize("name", ["e.json", "f.xml"])
def test_the_budget_is_raised_by_the_environment(name, tmp_path, monkeypatch):
    (path := tmp_path / name).write_text(
        f"<b>Tea {DEEP[name]}</b>" if name == "f.xml" else DEEP[name].replace("[]", '["Tea"]')
    )
    monkeypatch.setenv("ADVCHUNK_MAX_LEVELS", "300")
    assert "Tea" in read_file(path).text
    monkeypatch.setenv("ADVCHUNK_MAX_LEVELS", "many")
    with pytest.raises(ConfigurationError, match="ADVCHUNK_MAX_LEVELS must be a whole number, got 'many'"):
        read_file(path)


def test_data_deeper_than_the_stack_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_MAX_LEVELS", "100000")
    (path := tmp_path / "a.yaml").write_text(DEEP["a.yaml"])
    with pytest.raises(Unreadable, match="less deep than the stack"):
        read_file(path)


@pytest.mark.parametrize("name", [".cache", "tea.md", "old/.hidden/a"])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, b"Z"])
def test_no_member_of_an_archive_is_unpacked_to_its_end(tmp_path, name, kind):
    (path := tmp_path / "notes.tar.bz2").write_bytes(tar(name, kind))
    files = chunk_files(path, RecursiveChunker())
    assert list(files) == []
    (failure,) = files.failures
    assert "ADVCHUNK_MAX_" in str(failure.error)


def test_members_are_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_MAX_MEMBERS", "3")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for number in range(4):
            archive.addfile(tarfile.TarInfo(f".{number}"), io.BytesIO())
    files = chunk_files(tmp_path / "a.tar", RecursiveChunker())
    assert list(files) == []
    (failure,) = files.failures
    assert "an archive must have at most 3 members, got 4" in str(failure.error)


def test_records_of_many_members_are_no_table():
    row = {str(number): "a" for number in range(3000)}
    assert [block.kind for block in objects.read(json.dumps([row, row])).blocks] == ["code", "code"]


def test_front_matter_with_brackets_is_text():
    text = f"---\na: {'[' * 50_000}{']' * 50_000}\ntitle: Tea\n---\n\n# Green\n\nIt is hot.\n"
    *_, last = RecursiveChunker().chunk(text)
    assert (last.metadata["title"], last.text.strip()[-10:]) == ("Tea", "It is hot.")


@pytest.mark.parametrize("token", ["\n", "a,b\n\n", ",", '"', '"",', "a|"])
def test_tables_of_odd_records_take_linear_time(token):
    check_growth(separated_values.blocks, lambda length: repeated(token)(min(length, 60_000)), 15_000)


def test_the_names_in_messages_are_those_of_the_environment():
    assert all(name.isalpha() for name in budget._MOST)
    assert html.read(f"<p {'a=b ' * 100}>Tea").text == "Tea"
