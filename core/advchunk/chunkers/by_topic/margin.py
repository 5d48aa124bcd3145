"""Margin sampling: ask a language model at each gap whether to split or to keep."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, ClassVar, Final, Literal

import numpy as np

from advchunk.building.sizes import Limits, RunSizes
from advchunk.chunkers.model_bases import LanguageModelChunker, LanguageModelParams, join_segments
from advchunk.chunkers.numerics import cutting
from advchunk.chunkers.params import AS_PUBLISHED, Bounds
from advchunk.engine import Choose, Plan
from advchunk.errors import require
from advchunk.models.prompts import fill_prompt
from advchunk.records import Floats, Origin, Segmentation, Units
from advchunk.text.detection import language_of
from advchunk.text.sentences import language_code

_TIE = 1e-9  # difference of margins that rounding makes
MARGIN_OPTIONS: Final = ("1", "2")  # split, keep
_OPTION_LINES = re.compile(r"^1\. (.+)\n2\. (.+)$", re.MULTILINE)
_HAN, _LETTER = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]"), re.compile(r"[^\W\d_]")
_KANA = re.compile(r"[\u3040-\u30ff]")  # unique to Japanese


@cache
def margin_prompts() -> Mapping[str, str]:
    """Return the published prompts by language, reworded; the passage comes late, so that it is read once."""
    prompts: dict[str, str] = json.loads(files(__package__).joinpath("margin.json").read_text("utf-8"))
    return prompts


@dataclass(kw_only=True)
class MarginSamplingParams(LanguageModelParams):
    """Cut where a language model would rather split than keep, then join meta-chunks up to ``max_tokens``.

    At each gap the model is shown the text before and the sentence after, and asked for "1" (split) or "2" (keep). The
    margin is P(split) - P(keep), from one forward pass. Small models prefer a number or the first option, whatever the
    text; so each question is asked again with the options exchanged, and the margin is the mean. The text is cut where
    the margin exceeds the threshold, which is the mean of the last few margins once there are enough.

    Departs from the published code by default: cuts move to the layout (``layout_weight``, ``outline``), sentences end
    where blocks do (``markup``), and not at a full-width semicolon (``semicolons``); each question is asked twice, at
    twice the cost (``calibrate``); and ties are no evidence (``cut_ties``). ``preset="published"`` sets all of this
    back. Always: text is verbatim; English sentences are ours, not NLTK's; the prompts are reworded, so give the
    original as ``prompt``; if the text before the gap and the sentence together exceed ``max_tokens``, it cuts without
    asking; and margins have the opposite sign: higher ones cut.

    Zhao et al. 2024, "Meta-Chunking", section 3.1; its code, ``chunk_rag.py``.

    Parameters
    ----------
    preset : "published": the published code with other prompts, on plain text.
    threshold : margin that a cut exceeds while there are fewer than ``window`` margins, -1..1.
    window : number of the latest margins whose mean is the threshold, >= 1; None always uses ``threshold``.
    context : text shown before the gap: "chunk", all of the current chunk, which takes a call per gap; or "pair", the
        previous sentence, which costs the same at each gap and needs no earlier answer.
    calibrate : ask again with the options exchanged; False asks once, as published, at half the cost.
    cut_ties : True cuts where the margin equals the threshold, too.
    prompt : the prompt, with ``{before}`` and ``{sentence}``, best between tags, which are escaped in the text; and, to
        calibrate, with the options in two lines, "1. " and "2. ". None is one of `margin_prompts`: in Chinese if
        ``language`` or the text is, else in English.
    """

    algorithm: ClassVar[str] = "margin-sampling"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published": {**AS_PUBLISHED, "semicolons": True, "calibrate": False, "cut_ties": True},
    }
    preset: Literal["published"] | None = None
    threshold: Annotated[float, Bounds(-1, 1)] = 0.0
    window: Annotated[int | None, Bounds(1)] = 5
    context: Literal["chunk", "pair"] = "chunk"
    calibrate: bool = True
    cut_ties: bool = False
    prompt: str | None = None

    def check(self) -> None:
        """Add the rules for the prompt."""
        super().check()
        is_complete = self.prompt is None or ("{before}" in self.prompt and "{sentence}" in self.prompt)
        require(is_complete, "prompt must contain {before} and {sentence}", self.prompt)
        can_swap = not self.calibrate or self.prompt is None or _OPTION_LINES.search(self.prompt) is not None
        rule = 'prompt must have its options in two lines, "1. ..." and "2. ...", or calibrate must be False'
        require(can_swap, rule, self.prompt)


@dataclass(kw_only=True)
class MarginSamplingChunker(MarginSamplingParams, LanguageModelChunker):
    """Cut where a language model would rather split than keep (`MarginSamplingParams`).

    >>> class Counts:
    ...     def choose(self, prompt, options):
    ...         return [0.9, 0.1] if "court" in prompt.partition("<sentence>")[2] else [0.1, 0.9]
    >>> text = "Cats purr. Cats nap all day. The court hears. Judges rule."
    >>> [c.text for c in MarginSamplingChunker(lm=Counts(), combine=False).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'The court hears. Judges rule.']
    """

    lm_method = "choose"

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask at each gap, cut where the margin exceeds the threshold, join meta-chunks."""
        text, prompts = units.text, self.prompts_for(units.text)
        edges, sizes, is_pair = units.edges.tolist(), RunSizes(units, limits.counter), self.context == "pair"

        def ask(*gaps: tuple[int, int]) -> Plan[Floats]:
            items = [
                (fill_prompt(prompt, before=before.strip(), sentence=sentence.strip()), options)
                for start, gap in gaps
                for before, sentence in [(text[edges[start] : edges[gap]], text[edges[gap] : edges[gap + 1]])]
                for prompt, options in prompts
            ]
            rows = np.asarray((yield Choose(tuple(items), self.model)) if items else [])
            return np.asarray((rows.reshape(-1, len(prompts), 2) @ (1, -1)).mean(axis=1))

        def fits(start: int, gap: int) -> bool:
            return sizes.sum(start, gap + 1) <= limits.budget(edges[start])

        gaps, cuts, reasons = np.full(len(units) - 1, np.nan), [0], dict[int, str]()
        margins, thresholds = list[float](), list[float]()
        pairs = [(gap - 1, gap) for gap in range(1, len(units)) if is_pair and fits(gap - 1, gap)]
        of_pairs = iter((yield from ask(*pairs)).tolist())
        for gap in range(1, len(units)):
            is_mean = self.window is not None and len(margins) >= self.window
            thresholds.append(float(np.mean(margins[-(self.window or 0) :])) if is_mean else self.threshold)
            start = gap - 1 if is_pair else cuts[-1]
            if not fits(start, gap):
                cuts.append(gap)
                reasons[gap] = "forced"
                continue
            margins.append(next(of_pairs) if is_pair else float((yield from ask((start, gap)))[0]))
            gaps[gap - 1] = margins[-1]
            if margins[-1] > thresholds[-1] + (-_TIE if self.cut_ties else _TIE):
                cuts.append(gap)
                reasons[gap] = "margin"
        joined = cutting.cuts_at(np.array(cuts), len(units))
        joined = join_segments(joined, units, limits) if self.combine else joined
        figures = {"margins": np.array(margins), "thresholds": np.array(thresholds)}
        joined_reasons = [reasons[cut] for cut in joined[1:-1].tolist()]
        origins: Origin | None = "size" if self.combine else None
        return Segmentation(joined, reason=joined_reasons, gaps=gaps, figures=figures, origins=origins)

    def prompts_for(self, text: str) -> list[tuple[str, tuple[str, str]]]:
        """Return the prompts for a text, each with its numbers for "split" and "keep"."""
        mostly_han = 2 * len(_HAN.findall(text)) > len(_LETTER.findall(text)) and not _KANA.search(text)
        is_chinese = mostly_han or language_code(language_of(text, self.language)) == "zh"
        prompt = self.prompt or margin_prompts()["zh" if is_chinese else "en"]
        swapped = _OPTION_LINES.sub(r"1. \2\n2. \1", prompt)
        return [(prompt, MARGIN_OPTIONS), (swapped, MARGIN_OPTIONS[::-1])][: 1 + self.calibrate]
