"""Names that load on first use."""

import sys
import types

import pytest

from advchunk.registry import lazy_names


@pytest.fixture
def package(monkeypatch):
    """Return a package with lazy names of the standard library."""
    module = types.ModuleType("shelf")
    module.__path__ = []
    monkeypatch.setitem(sys.modules, "shelf", module)
    module.__getattr__, module.__dir__, module.__all__ = lazy_names(
        "shelf", {"fractions": "Fraction", "math": "floor sqrt"}
    )
    return module


def test_a_name_is_imported_on_first_use_and_kept(package):
    assert "Fraction" not in vars(package)
    assert package.Fraction(1, 2) == 0.5
    assert "Fraction" in vars(package)
    assert package.sqrt(9) == 3


def test_an_unknown_name_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="module 'shelf' has no attribute 'Frcation'"):
        _ = package.Frcation
    with pytest.raises(ImportError, match="cannot import name 'missing'"):
        from shelf import missing  # noqa: F401


def test_dir_and_all_list_the_names(package):
    assert package.__all__ == ["Fraction", "floor", "sqrt"]
    assert {"Fraction", "floor", "sqrt"} <= set(dir(package))
