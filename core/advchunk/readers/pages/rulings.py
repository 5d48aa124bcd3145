"""Find the tables of PDFs whose cells are drawn with lines, by pdfplumber."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from io import BytesIO
from typing import Any, TypeAlias

from advchunk.errors import import_extra
from advchunk.readers.pages.regions.grids import Grid
from advchunk.readers.pages.regions.shapes import Box

FEWEST_PATHS = 4
"""Lines and other shapes of a page that may have tables."""

FindGrids: TypeAlias = Callable[[int], list[Grid]]
"""Returns the grids of a page, by its number from 1; in points, origin top left."""

_LIBRARY = logging.getLogger("pdfminer")
_log = logging.getLogger("advchunk")


@contextmanager
def open_rulings(data: bytes, password: str | None, name: str) -> Iterator[FindGrids]:
    """Open a PDF when its first grid is asked for; pages that pdfplumber cannot read have none, and a warning says
    so.
    """
    failures, before = dict[int, str](), _LIBRARY.level
    with ExitStack() as stack:

        @cache
        def opened() -> Any:
            library = import_extra("pdfplumber", "pdf")
            return stack.enter_context(library.open(BytesIO(data), password=password))

        def find(number: int) -> list[Grid]:
            _LIBRARY.setLevel(logging.ERROR)  # it warns of fonts, which are not used here
            try:
                with closing(opened().pages[number - 1]) as page:
                    left, top = page.bbox[:2]
                    rows = [[row.cells for row in table.rows] for table in page.find_tables()]
            except ImportError:
                raise
            except Exception as error:  # noqa: BLE001 - it raises whatever a damaged page leads it to
                failures[number] = type(error).__name__
                return []
            finally:
                _LIBRARY.setLevel(before)
            return [[[cell and _shifted(cell, left, top) for cell in row] for row in table] for table in rows]

        yield find
    if failures:
        pages, reasons = ", ".join(map(str, failures)), ", ".join(sorted({*failures.values()}))
        _log.warning("%s: tables that are drawn with lines are not recognized on pages %s: %s", name, pages, reasons)


def _shifted(cell: Box, left: float, top: float) -> Box:
    return cell[0] - left, cell[1] - top, cell[2] - left, cell[3] - top
