"""Files in folders and archives: which are read, which are not, and what is said of them."""

import io
import os
import tarfile
import zipfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advchunk import ConfigurationError, RecursiveChunker, chunk_files, read_file
from advchunk.chunkers import sources as chunked
from advchunk.chunkers.sources import NameSet
from advchunk.readers import sources
from advchunk.readers.sources import Inventory, find_files, read_sources


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def find(folder: Path, **options) -> tuple[list[str], Inventory]:
    inventory = Inventory()
    return [str(Path(name).relative_to(folder)) for name in find_files([folder], inventory, **options)], inventory


def test_a_folder_stands_for_its_files_but_hidden_ones_and_what_has_no_reader(tmp_path):
    write(
        tmp_path,
        {
            "b/tea.md": b"Tea.", "a.css": b"p {}", "cup.png": b"\x89PNG\r\n", "LICENSE": b"Free.", ".git/config": b"x",
            "data.bin": b"a\0b", "utf16.log": "Tea".encode("utf-16"), "latin.log": "Thé vert".encode("latin-1"), "empty": b"",
        },
    )  # fmt: skip
    names, inventory = find(tmp_path)
    assert names == ["LICENSE", "a.css", "empty", "latin.log", "utf16.log", "b/tea.md"]
    assert dict(inventory.read) == {".md": 1}
    assert dict(inventory.plain) == {".css": 1, "LICENSE": 1, ".log": 2, "empty": 1}
    assert {Path(name).name for name in inventory.skipped} == {"cup.png", "data.bin"}
    assert inventory.total == len(names) + 2
    assert ".png 1" in str(inventory)


def test_a_character_across_the_end_of_the_first_bytes_is_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_HEAD", 5)
    write(tmp_path, {"odd": "Tée€€".encode()})
    assert find(tmp_path)[0] == ["odd"]


def test_links_in_a_folder_are_not_followed(tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    write(outside, {"secret.md": b"Secret."})
    write(inside, {"tea.md": b"Tea."})
    (inside / "file.md").symlink_to(outside / "secret.md")
    (inside / "folder").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    names, inventory = find(inside)
    assert names == ["tea.md"]
    assert set(inventory.skipped.values()) == {"a link"}
    assert len(inventory.skipped) == 3
    files = chunk_files([inside / "file.md"], RecursiveChunker())  # a link that is named is followed
    assert [document.text for document, _ in files] == ["Secret."]


def test_a_folder_may_be_deeper_than_python_recurses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(1000):
        Path("a").mkdir()
        os.chdir("a")
    Path("tea.md").write_text("Tea.")
    names, _ = find(tmp_path)
    Path("tea.md").unlink()
    for _ in range(1000):  # pytest would remove the folders by recursion
        os.chdir("..")
        Path("a").rmdir()
    assert names == ["a/" * 1000 + "tea.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.md")
    names, inventory = find(tmp_path)
    assert (names, [*inventory.skipped.values()]) == ([], ["not a regular file"])


def test_each_file_is_read_once(tmp_path):
    write(tmp_path, {"a.md": b"Tea.", "b.md": b"Rum."})
    inventory = Inventory()
    names = list(find_files([tmp_path / "b.md", tmp_path, f"{tmp_path}/./a.md"], inventory))
    assert [Path(name).name for name in names] == ["b.md", "a.md"]
    assert find(tmp_path, exclude=[tmp_path / "a.md"])[0] == ["b.md"]


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


HOSTILE = {
    "guide/tea.md": b"# Tea\n\nGreen.", "../out.md": b"Out.", "/etc/x.md": b"Root.", "C:/x.md": b"Drive.", ".hidden.md": b"x",
    "__MACOSX/tea.md": b"x", "cup.png": b"\x89PNG\r\n", "more.zip": zipped({"rum.md": b"Rum."}), "note": b"Plain.",
}  # fmt: skip


@pytest.mark.parametrize(("name", "pack"), [("docs.zip", zipped), ("docs.tar.gz", tarred), ("docs.TAR", lambda m: tarred(m, "w"))])  # fmt: skip
def test_members_of_archives_are_read_and_never_written(tmp_path, monkeypatch, name, pack):
    write(tmp_path / "in", {name: pack(HOSTILE)})
    monkeypatch.chdir(tmp_path)
    files = chunk_files("in", RecursiveChunker())
    chunks = [(document.id, chunk.text, chunk.metadata.get("section")) for document, (chunk,) in files]
    assert chunks == [(f"in/{name}/guide/tea.md", "# Tea\n\nGreen.", "Tea"), (f"in/{name}/note", "Plain.", None)]
    reasons = {Path(member).name: reason for member, reason in files.inventory.skipped.items()}
    outside = "a path out of the archive"
    assert reasons == {
        "out.md": outside,
        "x.md": outside,
        "cup.png": "no reader",
        "more.zip": "an archive in an archive",
    }
    assert not files.failures
    assert [path.name for path in tmp_path.rglob("*")] == ["in", name]


def test_links_in_a_tar_and_encrypted_members_are_skipped(tmp_path):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        link = tarfile.TarInfo("passwd.md")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    flagged = bytearray(zipped({"secret.md": b"x"}))
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flagged[flagged.index(sign) + at] |= 1
    write(tmp_path, {"a.tar": buffer.getvalue(), "b.zip": bytes(flagged)})
    files = chunk_files(tmp_path, RecursiveChunker())
    assert list(files) == []
    assert list(files.inventory.skipped.values()) == ["a link", "encrypted"]


def test_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ADVCHUNK_MAX_BYTES", "1000")
    monkeypatch.setenv("ADVCHUNK_MAX_TOTAL", "5000")
    lying = bytearray(zipped({"lie.md": b"a" * 3000}))
    at = lying.index(b"PK\x01\x02") + 24
    lying[at : at + 4] = (10).to_bytes(4, "little")  # the declared size
    many = {f"{i}.md": b"b" * 900 for i in range(6)}
    write(
        tmp_path,
        {"a.zip": zipped({"big.md": b"a" * 1001, "tea.md": b"Tea."}), "b.zip": zipped(many), "c.zip": bytes(lying)},
    )
    files = chunk_files(tmp_path, RecursiveChunker())
    texts = [document.text for document, _ in files]
    assert texts == ["Tea.", *["b" * 900] * 5]
    assert [*files.inventory.skipped.values()] == ["too large"]
    (bomb, lie) = files.failures
    assert (Path(bomb.source).name, Path(lie.source).name) == ("b.zip", "c.zip")
    assert "must unpack to at most 5,000 bytes" in str(bomb.error)
    assert "must not be damaged" in str(lie.error)


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_damaged_archives_give_one_error_each(tmp_path, pack):
    whole = pack({"tea.md": b"Green tea is steamed. " * 50, "rum.md": b"Rum."})

    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    def check(at: int, change: int, is_cut: bool) -> None:
        data = whole[:at] if is_cut else whole[:at] + bytes([whole[at] ^ change]) + whole[at + 1 :]
        path = tmp_path / ("x.zip" if pack is zipped else "x.tgz")
        path.write_bytes(data)
        try:
            read = list(read_sources(str(path), Inventory()))
        except (ConfigurationError, OSError):
            return
        assert all(source.data is not None for source in read)

    check()


def test_one_bad_file_does_not_end_a_folder(tmp_path):
    write(
        tmp_path,
        {
            "a.md": b"\xff\xfe\xfa",
            "b.md": b"Tea.",
            "c.jsonl": b'{"id": 1, "text": "One."}\n{"id": 1, "text": "Two."}\n{\n',
        },
    )
    files = chunk_files(tmp_path, RecursiveChunker())
    assert [document.id for document, _ in files] == [str(tmp_path / "b.md"), "1"]
    assert [(failure.index, Path(failure.source).name) for failure in files.failures] == [
        (0, "a.md"),
        (2, "1"),
        (2, "c.jsonl:3"),
    ]
    assert len(list(files)) == 2  # again
    assert len(files.failures) == 3
    with pytest.raises(ConfigurationError, match="utf-16"):
        list(chunk_files(tmp_path, RecursiveChunker(), on_error="raise"))


@pytest.mark.slow
def test_workers_give_the_same_results(tmp_path):
    texts = {f"{i}.md": f"# Part {i}\n\n{'Tea. ' * i}".encode() for i in range(20)}
    write(tmp_path, {**texts, "bad.md": b"\xff\xfe\xfa", "more.zip": zipped({"rum.md": b"Rum."})})
    alone = chunk_files(tmp_path, RecursiveChunker(max_tokens=10), metadata_key="source")
    shared = chunk_files(tmp_path, RecursiveChunker(max_tokens=10), metadata_key="source", workers=2)
    results = [[(d.id, d.text, d.metadata, chunks) for d, chunks in files] for files in (alone, shared)]
    assert results[0] == results[1]
    assert str(shared.inventory) == str(alone.inventory)
    assert [(f.index, f.source, str(f.error)) for f in shared.failures] == [
        (f.index, f.source, str(f.error)) for f in alone.failures
    ]


def test_a_call_goes_on_where_one_was_interrupted(tmp_path):
    (tmp_path / "a.md").write_text("Tea.", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "text": "Rum."}\n{"text": "Gin."}\nno\n', encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("d.md", "Milk.")
        archive.writestr("e.md", "Water.")
    chunker = RecursiveChunker()
    names = [document.id for document, _ in chunk_files(tmp_path, chunker)]
    assert len(names) == 5
    for first in range(6):
        rest = chunk_files(tmp_path, chunker, done=names[:first])
        assert [document.id for document, _ in rest] == names[first:]
        assert [failure.source for failure in rest.failures] == [f"{tmp_path}/b.jsonl:3"]


@given(st.lists(st.integers(0, 40), max_size=99))
def test_names_that_are_used_twice_are_found(numbers):
    names, added = NameSet(), set()
    with mock.patch.object(chunked, "_MOST_RECENT", 4):
        for number in numbers:
            assert names.add(f"{number}") == (number not in added)
            added.add(number)


def test_progress_counts_files(tmp_path):
    write(tmp_path, {"a.md": b"Tea.", "b.zip": zipped({"x.md": b"X.", "y.md": b"Y."}), "c.md": b"\xff\xfe\xfa"})
    counts = list[int]()
    list(chunk_files(tmp_path, RecursiveChunker(), progress=counts.append))
    assert counts == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"workers": 0}, "workers"),
        ({"on_error": "ignore"}, "on_error"),
        ({"chunker": "recursive"}, "chunker must be Chunker or None"),
    ],
)
def test_wrong_arguments_are_named(tmp_path, arguments, rule):
    with pytest.raises(ConfigurationError, match=rule):
        chunk_files(tmp_path, **arguments)


def test_the_inventory_says_what_failed_what_is_not_in_utf_8_and_which_chunker_auto_took(tmp_path):
    write(
        tmp_path,
        {
            "tea.md": "# Tea\n\nGreen tea is steamed, and black tea "
                      "is not.\n".encode("utf-16"), "rows.csv": b"tea,price\ngreen,2\n",
            "bad.json": b"{", "law.md": b"# Law\n\nCourts sit.\n",
        },
    )  # fmt: skip
    files = chunk_files(tmp_path, on_error="collect")
    assert sorted(Path(document.id).name for document, _ in files) == ["law.md", "rows.csv", "tea.md"]
    inventory = files.inventory
    assert [Path(failure.source).name for failure in files.failures] == ["bad.json"]
    assert (dict(inventory.read), dict(inventory.failed)) == ({".md": 2, ".csv": 1}, {".json": 1})
    assert dict(inventory.encodings) == {"utf-16": 1}
    assert dict(inventory.chunkers) == {".md by optimal-semantic": 2, ".csv by recursive": 1}
    assert inventory.total == 4
    assert "1 failed (.json 1), 1 not in UTF-8 (utf-16)" in str(inventory)


@pytest.mark.parametrize(
    ("exclude", "names"),
    [
        ("*.css", ["LICENSE", "b/c/rum.md", "b/tea.md"]),
        (["*.css", "b/c/*"], ["LICENSE", "b/tea.md"]),
        ("{folder}/b", ["LICENSE", "a.css"]),
        (["{folder}/LICENSE", "{folder}/b/c"], ["a.css", "b/tea.md"]),
        ((), ["LICENSE", "a.css", "b/c/rum.md", "b/tea.md"]),
    ],
)
def test_files_folders_and_patterns_are_passed_over(tmp_path, exclude, names):
    write(tmp_path, {"b/tea.md": b"Tea.", "b/c/rum.md": b"Rum.", "a.css": b"p {}", "LICENSE": b"Free."})
    own = exclude.format(folder=tmp_path) if isinstance(exclude, str) else [e.format(folder=tmp_path) for e in exclude]
    assert sorted(find(tmp_path, exclude=own)[0]) == names
    documents = [document for document, _ in chunk_files(tmp_path, RecursiveChunker(), exclude=own)]
    assert sorted(str(Path(document.id).relative_to(tmp_path)) for document in documents) == names


def test_a_file_of_which_nothing_is_read_is_a_failure_unless_it_is_blank(tmp_path):
    for name, data in {
        "a.html": "<title>Tea</title>",
        "b.eml": "Subject: Tea\n\n",
        "c.md": "Tea.",
        "d.md": "\ufeff \n",
    }.items():
        (tmp_path / name).write_text(data, encoding="utf-8")
    files = chunk_files(tmp_path, RecursiveChunker())
    assert [len(chunks) for _, chunks in files] == [1, 0]
    assert [Path(failure.source).name for failure in files.failures] == ["a.html", "b.eml"]
    assert all("no text was found" in str(failure.error) for failure in files.failures)


def test_the_main_content_of_pages_is_passed_on(tmp_path):
    pytest.importorskip("trafilatura")
    menu = "".join(f"<p><a href='/{i}'>Offers of the week number {i}</a></p>" for i in range(9))
    prose = "".join(
        f"<p>Green tea {i} is steamed, rolled, and dried on the day on which it is picked.</p>" for i in range(9)
    )
    (tmp_path / "a.html").write_text(
        f"<html><body><div>{menu}</div><div><h1>Tea</h1>{prose}</div></body></html>", encoding="utf-8"
    )
    for chunker in (RecursiveChunker(), RecursiveChunker(markup="html")):
        ((document, chunks),) = chunk_files(tmp_path, chunker, content="main")
        assert "Offers" not in document.text
        assert chunks[0].metadata["left_out"].startswith("paragraphs: ")
    assert "Offers" in read_file(tmp_path / "a.html").text
    assert "Offers" not in read_file(tmp_path / "a.html", content="main").text
    with pytest.raises(ConfigurationError, match="content must be"):
        chunk_files(tmp_path, content="some")
