"""Chunks as a page to look at: the text in color, sizes, signals, and how two methods differ."""

from advchunk.viewer.page import View

__all__ = ["View"]
