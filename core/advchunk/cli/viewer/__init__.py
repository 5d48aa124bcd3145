"""Chunks as a page to look at: the text in color, sizes, signals, and how two methods differ."""

from advchunk.registry import Registration, lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {
    ".page": "View",
})  # fmt: skip

REGISTRATIONS = (
    Registration(kind="command", name="view", path="advchunk.cli.viewer.command:view_command", summary="show chunks"),
)
