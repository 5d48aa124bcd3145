import json

import pytest
import sentences as benchmark

TEXTS = {
    "en": "It rained all day. Nobody came.\n\nWhy? She left.",
    "de": "Es regnete. Er ging.",
    "ja": "雨だ。彼は行った。",
}


@pytest.fixture
def data(tmp_path):
    (tmp_path / "sentences").mkdir()
    for name in benchmark.TARGETS:
        text = TEXTS[name[:2]]
        ends = [i + 1 for i, character in enumerate(text) if character in ".?。"]
        line = json.dumps({"document": "1", "text": text, "ends": ends})
        (tmp_path / f"sentences/{name}.jsonl").write_text(line, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("target", "code"), [(1.0, 0), (1.01, 1)])
def test_exit_code_says_whether_a_target_is_missed(data, target, code, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["sentences.py", "--data", str(data)])
    monkeypatch.setattr(benchmark, "TARGETS", dict.fromkeys(benchmark.TARGETS, target))
    assert benchmark.main() == code
    table = capsys.readouterr().out
    assert "| en_gum | **advchunk** | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 |" in table
    assert ("Missed: none" in table) == (code == 0)


@pytest.mark.parametrize("name", benchmark.REWRITINGS)
def test_rewriting_keeps_the_ends_of_sentences(name):
    text = benchmark.Text('It "rained". It was late. Why?', frozenset([12, 25, 30]), "1")
    new = benchmark.REWRITINGS[name](text)
    assert [new.text[end - 1] for end in sorted(new.ends)][2] == "?"
    assert all(new.text[end - 1] in ".?])" for end in new.ends)
    assert len(new.ends) == 3
