"""Each chunk rewritten so that it can be read alone, from what its document truly states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Final

from advchunk.engine import Plan
from advchunk.enrich.base import TEXT, Enricher, Passage, an_object, check_places, said_in, schema
from advchunk.enrich.prompts import RewritingPrompts
from advchunk.enrich.surroundings import Surroundings, flat, plain, shielded
from advchunk.errors import BadModelOutput, require
from advchunk.models.chat import is_number
from advchunk.models.prompts import fill_prompt
from advchunk.records import Chunk, with_context

_MISSING = schema(missing={"type": "array", "items": TEXT})
_STATED = schema(stated={"type": "array", "items": an_object(answer=TEXT, quote=TEXT)})
_COMPLETED = schema(text=TEXT)
_MOST: Final = 8  # things that are missing from a chunk
_MISSING_TOKENS, _STATED_TOKENS, _LEAST_TOKENS = 512, 1024, 1024  # of answers
_GROWTH: Final = 3  # times the tokens of a chunk that its completion may have
_LEAST_QUOTE: Final = 6  # characters: less is found in any text
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_AROUND = re.compile(r"^\W+|\W+$")  # what is put around a quote


@dataclass(kw_only=True)
class Rewriting(Enricher):
    r"""Write a version of each chunk that can be read alone into ``metadata["rewritten"]``.

    Three stages: the model reflects on what the chunk lacks, given its document; refines that to what the document truly
    states; and completes the chunk with it. Nothing is written where nothing is missing, or stated, and
    ``metadata["rewritten_status"]`` says which. `enriched_text` puts it in the place of the text.

    It must hold what the chunk does, so answers are checked, without a model: a fact counts if its quote stands in the
    document; the completion holds ``least_kept`` of the chunk, all of its numbers, and no number that the document
    does not have.

    One that would pass ``max_tokens``, with the chunk's context, is dropped, and its status is "over max_tokens".

    Parameters
    ----------
    least_kept : share of the chunk that must stand in its completion, 0..1, counted in distinct runs of three characters.
    prompts : what is asked in the three stages, and its version.

    References
    ----------
    Zhao et al. 2024, "Meta-Chunking: Learning text segmentation and semantic completion via logical perception",
    missing-aware rewriting. The prompts and the checks are ours.

    Examples
    --------
    >>> from advchunk import RecursiveChunker
    >>> def llm(prompt):
    ...     if "<facts>" in prompt:
    ...         return '{"text": "Ada the cat naps all day."}'
    ...     if "<questions>" in prompt:
    ...         return '{"stated": [{"answer": "Ada, a cat", "quote": "Ada is a cat"}]}'
    ...     return '{"missing": ["Who naps?"]}' if "She naps all day.\n</passage>" in prompt else '{"missing": []}'
    >>> text = "Ada is a cat. She naps all day."
    >>> chunks = RecursiveChunker(max_tokens=6).chunk(text)
    >>> [chunk.metadata for chunk in Rewriting(llm=llm).enrich(text, chunks)]
    [{'rewritten_status': 'nothing missing'}, {'rewritten': 'Ada the cat naps all day.'}]
    """

    writes: ClassVar[str] = "rewritten"
    least_kept: float = 0.7
    prompts: Any = field(default=RewritingPrompts(), repr=False)

    def check(self) -> None:
        """Raise `ConfigurationError` on a value that breaks a rule."""
        right = is_number(self.least_kept) and self.least_kept <= 1
        require(right, "least_kept must be in 0..1", self.least_kept)
        seen = ("document", "passage")
        places = {"reflect": seen, "refine": ("questions", *seen), "complete": ("facts", "passage")}
        check_places(self.prompts, RewritingPrompts, **places)

    def plan(self, passage: Passage) -> Plan[Chunk]:
        """Ask what is missing, what of it is stated, and for the completed chunk."""
        chunk, around = passage.chunk, passage.around
        reflect = self.shown(self.prompts.reflect, passage, _MISSING_TOKENS, most=str(_MOST))
        missing = yield from self.asked(reflect, _MISSING, _questions, _MISSING_TOKENS)
        if not missing:
            return _with(chunk, rewritten_status="nothing missing")
        refine = self.shown(self.prompts.refine, passage, _STATED_TOKENS, questions=_listed(missing))
        stated = yield from self.asked(refine, _STATED, partial(facts, around=around), _STATED_TOKENS)
        if not stated:
            return _with(chunk, rewritten_status="nothing stated")
        said = {"place": around.place(chunk), "passage": shielded(chunk.text)}
        complete = fill_prompt(self.prompts.complete, facts=_listed(stated), **said)
        most = max(_LEAST_TOKENS, _GROWTH * self.counter(chunk.text))
        rewritten = yield from self.asked(complete, _COMPLETED, partial(self._kept, passage), most)
        whole = with_context(chunk.context, rewritten)
        if self.max_tokens is not None and self.counter(whole) > self.max_tokens:
            return _with(chunk, rewritten_status="over max_tokens")
        return _with(chunk, rewritten=rewritten)

    def _kept(self, passage: Passage, answer: Any) -> str:
        """Return the completed chunk, if it is one."""
        before, after = passage.chunk.text, said_in(answer, "text", str).strip()
        if (share := kept(before, after)) < self.least_kept:
            msg = f"a completed chunk must hold {self.least_kept:.0%} of the chunk, got {share:.0%}"
            raise BadModelOutput(msg)
        if lost := numbers(before) - numbers(after):
            msg = f"a completed chunk must hold the numbers of the chunk, lost {sorted(lost)}"
            raise BadModelOutput(msg)
        if new := numbers(after) - numbers(passage.around.document.text):
            msg = f"a completed chunk must hold no numbers but those of the document, got {sorted(new)}"
            raise BadModelOutput(msg)
        return after


def enriched_text(chunk: Chunk) -> str:
    r"""Return what to embed of a chunk: its context, and in the place of its text what it was rewritten to, if it was.

    >>> enriched_text(Chunk("She naps.", (), 4, context="Cats", metadata={"rewritten": "Ada naps."}))
    'Cats\n\nAda naps.'
    """
    return with_context(chunk.context, chunk.metadata.get("rewritten", chunk.text))


def facts(answer: Any, around: Surroundings) -> list[str]:
    """Return the answers whose quotes stand in the document."""
    stated = list[str]()
    for fact in said_in(answer, "stated", list)[:_MOST]:
        said, quote = flat(said_in(fact, "answer", str)), _AROUND.sub("", plain(said_in(fact, "quote", str)))
        if said and len(quote) >= _LEAST_QUOTE and quote in around.plain:
            stated.append(said)
    return stated


def kept(before: str, after: str) -> float:
    """Return the share of the distinct runs of three characters of one text that stand in another.

    >>> kept("She naps.", "Ada naps.")
    0.5714285714285714
    """
    runs = _runs(plain(before))
    return len(runs & _runs(plain(after))) / len(runs)


def numbers(text: str) -> Set[str]:
    """Return the numbers of a text, as they are written.

    >>> sorted(numbers("2.5 mg, 1,000 times in 1999."))
    ['1,000', '1999', '2.5']
    """
    return set(_NUMBER.findall(text))


def _runs(text: str) -> Set[str]:
    return {text[i : i + 3] for i in range(max(len(text) - 2, 1))}


def _questions(answer: Any) -> list[str]:
    missing = said_in(answer, "missing", list)
    if not all(isinstance(question, str) for question in missing):
        msg = f"what is missing must be texts, got {str(missing)[:80]!r}"
        raise BadModelOutput(msg)
    return list(filter(None, map(flat, missing)))[:_MOST]


def _listed(items: Iterable[str]) -> str:
    return "\n".join(f"- {shielded(item)}" for item in items)


def _with(chunk: Chunk, **found: str) -> Chunk:
    rest = {key: value for key, value in chunk.metadata.items() if key not in ("rewritten", "rewritten_status")}
    return replace(chunk, metadata=rest | found)
