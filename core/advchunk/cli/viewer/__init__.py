"""Chunks as a page to look at: the text in color, sizes, signals, and how two methods differ."""

from typing import TYPE_CHECKING

from advchunk.lazy import lazy_names
from advchunk.registry import Registration

if TYPE_CHECKING:
    from advchunk.cli.viewer.page import View

__all__ = ["REGISTRATIONS", "View"]
__getattr__, __dir__ = lazy_names(__name__, {"View": ".page"})

REGISTRATIONS = (
    Registration(kind="command", name="view", path="advchunk.cli.viewer.command:view_command", summary="show chunks"),
)
