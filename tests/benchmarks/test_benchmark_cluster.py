"""The script that measures what a cluster needs to know."""

from scripts import run


def test_a_method_is_measured_in_a_process_of_its_own(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.txt").write_text("One two three. Four five six.\n\n" * 30)
    printed = run("cluster", "--data", tmp_path, "--only", "recursive")
    assert printed.count("| recursive |") == 1
