"""A plugin for a copy of the core without some rooms: it skips the tests that need these, as they would be deleted with them.

What tests import from an absent room is a stand-in: a test that uses it is skipped, and code of ours that uses it fails.
"""

import json
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

import pytest

from starters import names_used

PACKAGES = ("advchunk", "langchain_advchunk", "llamaindex_advchunk")
OURS = tuple(folder for package in PACKAGES for folder in find_spec(package).submodule_search_locations)
NAMES = json.loads(
    os.environ.get("WITHOUT_ROOMS", "{}")
)  # the absent rooms by the names in their tables, and by their own


def room_of(name):
    """Return the absent room that has a name, or a module of this path, in an adapter, too; None if there is none."""
    package, _, rest = name.partition(".")
    return NAMES.get(f"advchunk.{rest.partition('.')[0]}" if package in PACKAGES else name)


class Absent:
    """What is in an absent room."""

    def __init__(self, name, room):
        self.name, self.room = name, room

    def __getattr__(self, name):
        if name.startswith("__"):  # pytest and others look for such attributes in everything
            raise AttributeError(name)
        self._use()

    def _use(self, *_, **__):
        frame = sys._getframe(1)
        user = (frame.f_back if frame.f_code is Absent.__getattr__.__code__ else frame).f_code.co_filename
        assert not user.startswith(OURS), f"{user} uses {self.name} of {self.room}, which is absent"
        pytest.skip(f"needs {self.room}", allow_module_level=True)

    __call__ = __instancecheck__ = __mro_entries__ = _use


class AbsentModule(ModuleType):
    """A module of an absent room, which has any name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name, room_of(self.__name__))


class Finder:
    """Finds modules of absent rooms."""

    @staticmethod
    def find_spec(name, *_):
        return ModuleSpec(name, Finder, is_package=True) if room_of(name) else None

    @staticmethod
    def create_module(spec):
        return AbsentModule(spec.name)

    @staticmethod
    def exec_module(module):
        pass


def pytest_configure():
    sys.meta_path.insert(0, Finder)
    for package in map(import_module, PACKAGES):
        for name, room in NAMES.items():
            if name.isidentifier():
                setattr(package, name, Absent(name, room))


def pytest_collection_modifyitems(items):
    for item in items:
        named = {*names_used(item), *(f"advchunk.{room}" for mark in item.iter_markers("room") for room in mark.args)}
        params = item.callspec.params.values() if hasattr(item, "callspec") else ()
        rooms = {*map(room_of, named), *(value.room for value in params if isinstance(value, Absent))} - {None}
        if rooms:
            item.add_marker(pytest.mark.skip(f"needs {', '.join(sorted(rooms))}"))
