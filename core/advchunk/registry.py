"""The table of all that has a name: chunkers, readers, embedders, splitters, caches, metrics, and commands.

A row is a `Registration`. It says what the rest of the package must know of one thing, and where it is; nothing is
imported before it is used. The packages in `PACKAGES` list their rows in their ``__init__``, as ``REGISTRATIONS``.
Other packages declare such a list as an entry point of the group "advchunk.tables", or single objects as one of
"advchunk.chunkers", "advchunk.readers", and so on, which then say the rest themselves (docs/guides/extend.md).

A row that has a name of ours, or whose object cannot be loaded, is not used, which is logged once.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from advchunk.errors import ConfigurationError, first_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind: TypeAlias = Literal["chunker", "reader", "embedder", "splitter", "cache", "enricher", "metric", "command"]

PACKAGES: Final = (
    "chunkers", "readers", "models", "text", "cli", "readers.pubmed", "chunkers.biomedical", "readers.code",
    "readers.conversations", "readers.data", "enrich", "chunkers.experimental", "chunkers.graphrag", "readers.mail",
    "readers.markups", "readers.office", "readers.pages", "chunkers.by_page", "readers.papers", "chunkers.by_topic",
    "cli.evaluation", "cli.viewer",
)  # fmt: skip
"""Our packages that have rows. They are read in this order, which is also the order in which readers detect formats."""
_log = logging.getLogger("advchunk")


class Registration(NamedTuple):
    """A row of the table.

    Parameters
    ----------
    kind, name : by which the object is found.
    path : module and attribute of the object, "package.module:attribute"; without attribute, the module is the object.
    summary : one line, for lists.
    source : the paper or library that it implements, or the package that declares it.
    extra : the extra of advchunk that it needs (`errors.MissingExtra`).
    experimental : True for a chunker whose results may change; None if the object says so itself, as below.
    needs : the model without which a chunker cannot be built, "lm" or "llm".
    formats : the formats that ``auto`` gives to a chunker.
    suffixes : suffixes of the files in a format.
    shared_suffixes : suffixes of files that are in a format if they begin like one.
    begins : regular expression for the beginning of a text in a format.
    detect : path of a function ``(text, name, metadata) -> format``, which returns "" if unknown. It is asked about the
        texts that ``begins`` matches, with "" and {}; without ``begins``, about those that no ``begins`` matches.
    refines : formats in whose texts, if ``begins`` matches them, a reader of ours may find more blocks, with its
        function ``refine_layout``.
    metadata_keys : keys of the metadata of texts whose layout a reader restores, with its function ``restore_layout``.
    takes : what a reader reads, the "text" of a file or its "bytes".
    target : the object, if it is already loaded and need not be imported.
    """

    kind: Kind
    name: str
    path: str
    summary: str = ""
    source: str = ""
    extra: str = ""
    experimental: bool | None = False
    needs: Literal["", "lm", "llm"] = ""
    formats: tuple[str, ...] = ()
    suffixes: tuple[str, ...] | None = ()
    shared_suffixes: tuple[str, ...] = ()
    begins: str = ""
    detect: str = ""
    refines: tuple[str, ...] = ()
    metadata_keys: tuple[str, ...] = ()
    takes: Literal["text", "bytes"] | None = "text"
    target: Any = None

    @property
    def is_ours(self) -> bool:
        """True if the object is in advchunk."""
        return self.path.startswith("advchunk.")

    @property
    def attribute(self) -> str:
        """The name of the object in its module."""
        return self.path.partition(":")[2]

    def load(self) -> Any:
        """Return the object; None, with a warning, if that of another package cannot be loaded."""
        return _load(self) if self.target is None else self.target

    def reject(self, reason: str) -> None:
        """Log that the row is not used."""
        _warn(f"advchunk.{self.kind}s", self.name, self.source, reason)


def load_path(path: str) -> Any:
    """Return the object at ``module:attribute``, or the module."""
    module, _, attribute = path.partition(":")
    target: Any = import_module(module)
    for name in attribute.split(".") if attribute else ():
        target = getattr(target, name)
    return target


@cache
def _load(row: Registration) -> Any:
    if row.is_ours:
        return load_path(row.path)
    try:
        return load_path(row.path)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it may raise anything, and must not break the rest
        row.reject(f"{type(error).__name__}: {first_line(error)}")
        return None


_ROWS: Final = dict[tuple[Kind, str], Registration]()  # by kind and name: first ours, then those of other packages
_READ: Final = set[str]()  # the tables whose rows were added
_LOCK: Final = threading.RLock()  # reading a table may ask for a row


def find(kind: Kind, name: str) -> Registration | None:
    """Return a row, reading no more tables than it takes."""
    if row := _ROWS.get((kind, name)):
        return row
    return next((row for _ in _read_tables(kind) if (row := _ROWS.get((kind, name)))), None)


def rows_of(kind: Kind, *, ours: bool = False) -> list[Registration]:
    """Return the rows of a kind: ours, and then those of other packages unless ``ours``."""
    with _LOCK:
        for _ in _read_tables(kind, ours=ours):
            pass
        return [row for row in _ROWS.values() if row.kind == kind and (row.is_ours or not ours)]


def names_of(kind: Kind) -> list[str]:
    """Return the names of a kind."""
    return [row.name for row in rows_of(kind)]


def add(row: Registration) -> None:
    """Add a row, unless its name is taken."""
    taken = _ROWS.setdefault((row.kind, row.name), row)
    if taken is not row:
        row.reject("this is a name of advchunk" if taken.is_ours else f"{taken.source} has the same name")


def put(row: Registration) -> None:
    """Add a row of this process, in the place of one with the same path, such as that of a class that is defined again.

    Raises
    ------
    ConfigurationError : the name is that of another object.
    """
    with _LOCK:
        taken = find(row.kind, row.name)
        if taken is not None and (taken.is_ours or taken.path != row.path):
            msg = f"a {row.kind} must have a name of its own, and {row.name!r} is that of {taken.path}: got {row.path}"
            raise ConfigurationError(msg)
        _ROWS[row.kind, row.name] = row


def _read_tables(kind: Kind, *, ours: bool = False) -> Iterator[None]:
    """Add the rows of one table after another that was not read before, and yield after each."""
    others = (
        () if ours else (("tables of others", _declared_tables), (f"{kind}s of others", partial(_declared_rows, kind)))
    )
    for table, read in (*((package, None) for package in PACKAGES), *others):
        with _LOCK:
            if table not in _READ:
                _READ.add(table)
                for row in read() if read else import_module(f"advchunk.{table}").REGISTRATIONS:
                    add(row)
        yield


def _declared_tables() -> Iterator[Registration]:
    """Yield the rows in the tables of other packages."""
    for point in _entry_points("advchunk.tables"):
        try:
            for row in point.load():
                yield row._replace(source=row.source or _package(point))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as in `_load`
            _warn("advchunk.tables", point.name, _package(point), f"{type(error).__name__}: {first_line(error)}")


def _declared_rows(kind: Kind) -> Iterator[Registration]:
    """Yield a row for each single object of other packages; what an entry point does not say, the object does."""
    for point in _entry_points(f"advchunk.{kind}s"):
        unsaid: Any = {"experimental": None, "suffixes": None, "takes": None}
        yield Registration(kind=kind, name=point.name, path=point.value, source=_package(point), **unsaid)


def _entry_points(group: str) -> Iterable["EntryPoint"]:
    from importlib.metadata import entry_points  # slow, and rarely needed

    return entry_points(group=group)


def _package(point: "EntryPoint") -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _warn(group: str, name: str, source: str, reason: str) -> None:
    _log.warning("%s: %r of %s is not used: %s", group, name, source, reason)


LAZY_NAMES: Final = dict[str, dict[str, str]]()
"""The public names of each package that was loaded, and their modules."""


def lazy_names(
    package: str, modules: Mapping[str, str], classes: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__``, and ``__all__`` for a package whose names are imported on first use.

    ``tools/write_stubs.py`` writes the stubs for type checkers from `LAZY_NAMES`.

    Parameters
    ----------
    package : its ``__name__``.
    modules : the public names that each module defines, separated by spaces; a module is ``".module"`` or
        ``"package.module"``.
    classes : ``".module:Suffix"``, a module whose ``__all__`` are further names, with this suffix, listed late.
    """
    home, places = sys.modules[package], {name: path for path, names in modules.items() for name in names.split()}
    LAZY_NAMES[package] = places
    late, _, suffix = classes.partition(":")

    def load(name: str) -> Any:
        if late and name == "__all__":
            return sorted({*places, *import_module(late, package).__all__})
        path = places.get(name) or (late if late and name.endswith(suffix) else "")
        if not path:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=home)
        value = getattr(import_module(path, package), name)
        setattr(home, name, value)  # so that Python does not ask again
        return value

    def names() -> list[str]:
        return sorted({*vars(home), *places, *(load("__all__") if late else ())})

    return load, names, [*places]
