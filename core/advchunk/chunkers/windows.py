"""Windows: a long text is segmented in parts, so that time and memory stay in proportion to its length."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import Bounds, Params
from advchunk.records import Figures, Floats, Ints, Segmentation

_log = logging.getLogger("advchunk")


@dataclass(kw_only=True)
class WindowedParams(Params):
    """Hyper-parameters of the chunkers whose time or memory grows faster than the text.

    Parameters
    ----------
    max_units : maximum number of sentences that are segmented together, >= 8. A longer text is segmented in windows,
        with a warning in the log: each window starts at a cut of the one before, and is segmented as a text of its own
        (`windows.segment_windows`). None segments any text at once, and so does a given number of segments, which
        cannot be divided among windows; that is logged for a longer text.
    """

    max_units: Annotated[int | None, Bounds(8)] = 5_000


class _Window(NamedTuple):
    """A segmentation of the units from ``start`` on, which is used up to ``stop``."""

    start: int
    stop: int
    segmentation: Segmentation


def segment_windows(
    chunker: Any, n: int, segment: Callable[[int, int], Segmentation], number: str = ""
) -> Segmentation:
    """Segment n units at once, or in windows of ``chunker.max_units`` if there are more and ``number`` is not given.

    Cuts in the last quarter of a window lack the text that follows, and are discarded; the next window starts at the
    last cut before, so that no boundary is put at a border. Without a cut in the third quarter, the window is used up
    to the end of that quarter, and its last segment goes on in the next one. All windows have less than twice the units
    of the text. ``number`` names the parameter for the number of segments; labels are those of one window only;
    ``figures["windows"]`` has the figures of each, with ``start`` and ``stop``.
    """
    most = chunker.max_units or n
    if n <= most:
        return segment(0, n)
    if number and getattr(chunker, number) is not None:
        message = "%s segments %d sentences at once, because %s is given: time and memory grow with their square"
        _log.warning(message, chunker.algorithm, n, number)
        return segment(0, n)
    _log.warning("%s segments %d sentences in windows of max_units = %d", chunker.algorithm, n, most)
    windows, start = list[_Window](), 0
    while start < n:
        end = min(start + most, n)
        segmentation = segment(start, end)
        third_quarter = (most // 2 <= segmentation.cuts) & (segmentation.cuts <= most * 3 // 4)
        last = max(segmentation.cuts[third_quarter].tolist(), default=most * 3 // 4)
        windows.append(_Window(start, n if end == n else start + last, segmentation))
        start = windows[-1].stop
    return _join(windows)


def _join(windows: Sequence[_Window]) -> Segmentation:
    parts = [window.segmentation for window in windows]
    inner, reasons, gaps, labels, used = list[Ints](), list[str](), list[Floats](), list[Ints](), 0
    for start, stop, part in windows:
        cuts = part.cuts[1:-1][part.cuts[1:-1] <= stop - start]
        inner.append(cuts + start)
        reasons += part.reasons[: len(cuts)]
        gaps.append(np.full(stop - start, np.nan) if part.gaps is None else part.gaps[: stop - start])
        if part.labels is not None:
            labels.append(part.labels[: stop - start] + used)
            used = int(labels[-1].max()) + 1
    joined = np.concatenate(labels) if labels else None
    thresholds = {part.threshold for part in parts}
    least = [(p.least[0][: w.stop - w.start], p.least[1]) for w, p in zip(windows, parts, strict=True) if p.least]
    unknown = [w.segmentation.unknown[: w.stop - w.start] for w in windows if w.segmentation.unknown is not None]
    return Segmentation(
        cutting.cuts_at(np.concatenate(inner), windows[-1].stop) if joined is None else cutting.run_cuts(joined),
        joined,
        reason=reasons if len({*reasons}) > 1 else parts[0].reason,
        gaps=None if all(part.gaps is None for part in parts) else np.concatenate(gaps)[: windows[-1].stop - 1],
        threshold=thresholds.pop() if len(thresholds) == 1 else None,
        figures={"windows": [Figures({"start": w.start, "stop": w.stop, **w.segmentation.figures}) for w in windows]},
        least=(np.concatenate([sizes for sizes, _ in least]), least[0][1]) if least else None,
        unknown=np.concatenate(unknown) if unknown else None,
    )
