"""Names that load on first use, and former names."""

import sys
import types
import warnings

import pytest

from advchunk.lazy import lazy_names, with_former_keywords

OLD = "old is deprecated: import floor from math"


@pytest.fixture
def package(monkeypatch):
    """Return a package with lazy names of the standard library."""
    module = types.ModuleType("shelf")
    module.__path__ = []
    monkeypatch.setitem(sys.modules, "shelf", module)
    names = {"Fraction": "fractions", "root": "math:sqrt", "inner": ".inner"}
    module.__getattr__, module.__dir__ = lazy_names("shelf", names, {"old": "math:floor"}, {"lost": "see elsewhere"})
    monkeypatch.setitem(sys.modules, "shelf.inner", types.ModuleType("shelf.inner"))
    return module


def test_a_name_is_imported_on_first_use_and_kept(package):
    assert "Fraction" not in vars(package)
    assert package.Fraction(1, 2) == 0.5
    assert "Fraction" in vars(package)
    assert package.root(9) == 3
    assert package.inner is sys.modules["shelf.inner"]


def test_a_former_name_works_after_one_warning_at_the_import(package):
    with pytest.warns(DeprecationWarning, match=OLD) as warned:
        from shelf import old
    assert old(1.5) == 1
    assert [warning.filename for warning in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert package.old is old


def test_a_name_that_is_gone_says_where_to_look(package):
    with pytest.raises(ImportError, match=r"shelf\.lost is gone: see elsewhere"):
        from shelf import lost  # noqa: F401
    with pytest.raises(ImportError, match="see elsewhere"):
        _ = package.lost


def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="module 'shelf' has no attribute 'Frcation'"):
        _ = package.Frcation
    with pytest.raises(ImportError, match="cannot import name 'missing'"):
        from shelf import missing  # noqa: F401


def test_dir_lists_the_names_without_former_ones(package):
    with pytest.warns(DeprecationWarning, match=OLD):
        _ = package.old
    assert {"Fraction", "inner", "root"} <= set(dir(package))
    assert not {"old", "lost"} & set(dir(package))


@with_former_keywords(old="new")
def echo(new=0):
    """Return a value."""
    return new


def test_a_former_keyword_works_after_one_warning_at_the_call():
    with pytest.warns(DeprecationWarning, match="old= of echo is deprecated: use new=") as warned:
        assert echo(old=3) == 3
    assert [warning.filename for warning in warned] == [__file__]
    assert echo(4) == echo(new=4) == 4
