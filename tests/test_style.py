"""The code is written in plain words: nouns for names, imperatives in docstrings, American spelling."""

import ast
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ["core", "langchain_advchunk", "llamaindex_advchunk", "benchmarks", "tools", "tests"]
PATHS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
PACKAGES = [path for path in PATHS if path.relative_to(ROOT).parts[0] not in ("tests", "benchmarks", "tools")]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# A name says what a thing is, not that it was found, said or given.
VAGUE = {
    *("found", "said", "each", "one", "known", "given", "told", "meant", "wanted", "begun", "done_", "mine", "theirs"),
    *("_found", "_said", "_each", "_one", "_known", "_given", "_told", "_meant", "_wanted", "_mine", "saying"),
}
INVERTED = re.compile(r"(Return |Yield |Say |Tell )?(what|who|how|which|whether|why|where)\b", re.IGNORECASE)
BRITISH = re.compile(
    r"\b(neighbour|centre|colour|behaviour|favour|normalis|tokenis|recognis|serialis|summaris|initialis|organis"
    r"|capitalis|optimis|minimis|maximis|standardis|analys(e|ed|es|ing)\b|labelled|modelling|licence|formulae|artefact)",
    re.IGNORECASE,
)
ARCHAIC = re.compile(
    r"\b(anew|but for|whereof|thereof|that (is|are) no (?!longer|more)\w+|commonest|ever after|in "
    r"earnest|embedded default"
    r"|embedded WordPiece|what stands (around|beside)(?! the hits\*\*))\b",
    re.IGNORECASE,
)


def tree(path):
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def names(path):
    """Return the names that a module binds, with their lines."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def docstrings(path):
    """Return the docstrings of a module."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree(path)) if isinstance(node, documented)]


def comments(path):
    """Return the comments of a module."""
    with path.open(encoding="utf-8") as file:
        return [token.string for token in tokenize.generate_tokens(file.readline) if token.type == tokenize.COMMENT]


def offenders(paths, check):
    """Return what ``check`` lists for each of the files, without those of which it lists nothing."""
    return {str(path.relative_to(ROOT)): listed for path in paths if (listed := list(check(path)))}


def test_names_are_nouns_for_things():
    assert offenders(PATHS, lambda path: [(name, line) for name, line in names(path) if name in VAGUE]) == {}


def test_docstrings_are_not_inverted():
    def inverted(path):
        return [text.partition("\n")[0] for text in docstrings(path) if INVERTED.match(text)]

    assert offenders(PACKAGES, inverted) == {}


def test_spelling_is_american():
    def british(path):
        return [match.group() for match in BRITISH.finditer(path.read_text(encoding="utf-8"))]

    assert offenders([path for path in [*PATHS, *PAGES] if path != Path(__file__)], british) == {}


def test_words_are_those_of_today():
    def archaic(path):
        texts = [path.read_text(encoding="utf-8")] if path.suffix == ".md" else docstrings(path)
        return [match.group() for text in texts for match in ARCHAIC.finditer(text)]

    assert offenders([*PACKAGES, *PAGES], archaic) == {}


def test_comments_are_sentences():
    def fragments(path):
        return [comment for comment in comments(path) if re.match(r"#\s*(what|whatever) ", comment, re.IGNORECASE)]

    assert offenders(PACKAGES, fragments) == {}


# Lines of Python. A change may lower these numbers; a new capability pays with lines that it finds elsewhere.
MOST_LINES = {
    ("core/advchunk",): 46_000,
    ("langchain_advchunk", "llamaindex_advchunk"): 4_200,
    ("tests",): 46_000,
    ("benchmarks",): 10_900,
}


def test_the_code_does_not_grow():
    def lines(folder):
        return sum(path.read_text("utf-8").count("\n") for path in (ROOT / folder).rglob("*.py"))

    assert {
        folders: sum(map(lines, folders)) for folders in MOST_LINES if sum(map(lines, folders)) > MOST_LINES[folders]
    } == {}
