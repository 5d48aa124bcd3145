"""The benchmark of web pages counts what is main text and what is not."""

import sys

import pytest

pytest.importorskip("selectolax")
import web_pages

BODY = "<h1>Tea</h1><p>" + "Tea is made of leaves and hot water. " * 20 + "</p>"
SOURCE = (
    f"<html><body><nav>{'<a>Home</a> ' * 40}</nav><div id='content'>{BODY}<script>run()</script></div></body></html>"
)


def test_what_a_reader_keeps_is_counted():
    page = web_pages.read_page(SOURCE, "npm")
    assert page.headings == ["tea"]
    assert page.words["run"] == page.words["home"] == 0
    assert web_pages.measure(lambda _: BODY, [page], is_marked=True)[1:3] == (100, 100)
    assert web_pages.measure(lambda _: "", [page], is_marked=True)[:3] == (0, 0, 0)
    precision, recall, *_ = web_pages.measure(lambda source: source, [page], is_marked=False)
    assert precision < 80 < recall
    assert web_pages.read_page("<div id='content'>short</div>", "npm") is None
    assert web_pages.read_page(SOURCE, "node") is None


def test_it_prints_a_row_for_each_reader(tmp_path, monkeypatch, capsys):
    (tmp_path / "npm").mkdir()
    (tmp_path / "npm" / "a.html").write_text(SOURCE + " " * web_pages.SMALLEST, "utf-8")
    monkeypatch.setattr(web_pages, "READERS", {"advchunk": web_pages.READERS["advchunk"]})
    monkeypatch.setattr(sys, "argv", ["web_pages.py", "--data", str(tmp_path)])
    web_pages.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| npm | 1 | yes | advchunk | 100.0 | 100.0 | 100.0 |")
    assert lines[3].startswith("| npm | 1 | no | advchunk | ")
