"""Margin sampling: ask a language model at each gap whether to split there, and by how much rather than not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal

import numpy as np

from advchunk.chunkers.language import LanguageModelChunker, combined
from advchunk.chunkers.params import Params, at_least
from advchunk.engine import Choose, Plan
from advchunk.errors import require
from advchunk.numerics import search
from advchunk.records import Segmentation, Units
from advchunk.sizes import Limits, RunSizes
from advchunk.text.sentences import language_code

OPTIONS: Final = ("1", "2")  # split, keep

# The substance of the published prompts in words of ours. The passage, which grows, comes last but for the sentence, so
# that what was read of it once need not be read again.
PROMPTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "en": (
            "You know how texts are built. Decide where a text is divided into chunks, by its logic and its meaning. "
            "You are given a passage and the sentence after it. Choose one of two:\n"
            "1. Split: the passage is complete, and the sentence begins another part.\n"
            "2. Keep: the sentence belongs to the passage.\n\n"
            "Passage: {before}\n\nSentence: {sentence}\n\nAnswer 1 or 2."
        ),
        "zh": (
            "你熟悉文章的结构。请根据逻辑和含义判断文本应在何处分块。下面给出一段文字和紧接其后的一句话，请从两种方案中选择一种：\n"
            "1. 分割：这段文字已经完整，这句话开始新的部分；\n"
            "2. 不分割：这句话属于这段文字。\n\n"
            "文字：{before}\n\n句子：{sentence}\n\n请回答1或2。"
        ),
    }
)
_HAN, _LETTER = re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]"), re.compile(r"[^\W\d_]")
_KANA = re.compile(r"[\u3040-\u30ff]")  # only Japanese has them


@dataclass(kw_only=True)
class MarginSamplingParams(Params):
    """Cut where a language model rather splits than keeps together, then put meta-chunks together up to ``max_tokens``.

    At each gap the model is shown the text before it and the sentence after it, and asked for "1" (split) or "2" (keep).
    The margin is the difference of the probabilities of the two, P(split) - P(keep), from one forward pass. It cuts
    where that is the threshold or more, which follows the text: the mean of the last few margins, once there are so many.

    Departs from the published code: text is verbatim, what is asked is in words of ours, and where the text before the gap
    and the sentence are more than a chunk holds, it cuts without asking. Margins have the opposite sign, so that a higher one is a likelier boundary.

    Parameters
    ----------
    threshold : the margin at which the first gaps are cut, -1..1.
    window : how many of the latest margins make the threshold by their mean, >= 1; None keeps ``threshold`` throughout.
    context : what stands before the gap: the whole "chunk" so far, which is asked for gap by gap; or, in a "pair", the one
        sentence, which is as much for each gap and does not wait for the last answer.
    prompt : what is asked, with ``{before}`` and ``{sentence}`` in it; None is ours (`PROMPTS`).
    prompt_language : of our prompt: "en", "zh", or "auto", Chinese where ``language`` or most of the text is.
    combine : put meta-chunks together while they fit ``max_tokens``, from the left; none that fits is cut.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking: Learning text segmentation and semantic completion via logical perception",
    section 3.1; its code, ``chunk_rag.py``.
    """

    algorithm: ClassVar[str] = "margin-sampling"
    threshold: float = 0.0
    window: int | None = 5
    context: Literal["chunk", "pair"] = "chunk"
    prompt: str | None = None
    prompt_language: Literal["auto", "en", "zh"] = "auto"
    combine: bool = True

    def check(self) -> None:
        """Add the rules for threshold, window and prompt."""
        super().check()
        require(-1 <= self.threshold <= 1, "threshold must be in -1..1", self.threshold)
        at_least(1, self, "window")
        whole = self.prompt is None or ("{before}" in self.prompt and "{sentence}" in self.prompt)
        require(whole, "prompt must have {before} and {sentence} in it", self.prompt)


@dataclass(kw_only=True)
class MarginSamplingChunker(MarginSamplingParams, LanguageModelChunker):
    """Cut where a language model rather splits than keeps together (`MarginSamplingParams`).

    >>> class Counts:
    ...     def choose(self, prompt, options):
    ...         return [0.9, 0.1] if "court" in prompt.partition("Sentence:")[2] else [0.1, 0.9]
    >>> text = "Cats purr. Cats nap all day. The court hears. Judges rule."
    >>> [c.text for c in MarginSamplingChunker(lm=Counts(), combine=False).chunk(text)]
    ['Cats purr. Cats nap all day. ', 'The court hears. Judges rule.']
    """

    does = "choose"

    def decide(self, units: Units, limits: Limits) -> Plan[Segmentation]:
        """Ask at each gap, find where it is cut, put meta-chunks together."""
        model, prompt = self.model, self.asking(units.text)
        edges, ruler = units.edges.tolist(), RunSizes(units, limits.counter)

        def question(start: int, at: int) -> Any:
            before, sentence = units.text[edges[start] : edges[at]], units.text[edges[at] : edges[at + 1]]
            return fill_options(prompt, before.strip(), sentence.strip()), OPTIONS

        def fit(start: int, at: int) -> bool:
            return ruler.sum(start, at + 1) <= limits.budget(edges[start])

        gaps, inner, reasons = np.full(len(units) - 1, np.nan), [0], list[str]()
        asked, thresholds = list[float](), list[float]()
        paired = self.context == "pair"
        pairs = tuple(question(at - 1, at) for at in range(1, len(units)) if paired and fit(at - 1, at))
        answers = iter((yield Choose(pairs, model)) if pairs else ())
        for at in range(1, len(units)):
            thresholds.append(self._threshold(asked))
            start = at - 1 if paired else inner[-1]
            if not fit(start, at):
                inner.append(at)
                reasons.append("forced")
                continue
            split, keep = next(answers) if paired else (yield Choose((question(start, at),), model))[0]
            asked.append(split - keep)
            gaps[at - 1] = split - keep
            if split - keep >= thresholds[-1]:
                inner.append(at)
                reasons.append("margin")
        cuts = search.cuts_at(np.array(inner), len(units))
        reason = dict(zip(inner[1:], reasons, strict=True))
        if self.combine:
            cuts = combined(cuts, units, limits)
        return Segmentation(
            cuts,
            reason=[reason[at] for at in cuts[1:-1].tolist()],
            gaps=gaps,
            figures={"margins": np.array(asked), "thresholds": np.array(thresholds)},
        )

    def asking(self, text: str) -> str:
        """Return the prompt for a text."""
        if self.prompt is not None:
            return self.prompt
        if self.prompt_language != "auto":
            return PROMPTS[self.prompt_language]
        mostly = 2 * len(_HAN.findall(text)) > len(_LETTER.findall(text)) and not _KANA.search(text)
        return PROMPTS["zh" if mostly or language_code(self.language) == "zh" else "en"]

    def _threshold(self, asked: list[float]) -> float:
        if self.window is None or len(asked) < self.window:
            return self.threshold
        return float(np.mean(asked[-self.window :]))


def fill_options(prompt: str, before: str, sentence: str) -> str:
    """Fill in a prompt; what looks like a place to fill in the text is text.

    >>> fill_options("{before}|{sentence}", "a {sentence}", "b")
    'a {sentence}|b'
    """
    said = {"{before}": before, "{sentence}": sentence}
    return re.sub(r"\{before\}|\{sentence\}", lambda place: said[place[0]], prompt)
