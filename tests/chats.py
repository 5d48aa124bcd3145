"""Chat models for tests that are none."""

from __future__ import annotations

import re
from dataclasses import dataclass

_AROUND = 3  # lines


def every_fourth_line(prompt):
    """Return an answer of `LLMChapteringChunker` that needs no fallback."""
    numbers = re.findall(r"(?m)^\[(\d+)\]", prompt.rpartition("<lines>")[2])
    return "\n".join(f"## {number} Cats" for number in numbers[::4])


@dataclass(frozen=True)
class Editor:
    """A stand-in that begins a section with each line that, like those after it, has no word of those before it."""

    model_name: str = "editor"

    def __call__(self, prompt: str) -> str:
        shown = prompt.rpartition("<lines>")[2].rpartition("</lines>")[0]
        lines = re.findall(r"(?m)^\[(\d+)\] ?(.*)$", shown)
        words = [
            {word.rstrip("s") for word in re.findall(r"\w{3,}", text.lower())} - {"the", "and"} for _, text in lines
        ]
        begins = [
            i
            for i in range(len(lines))
            if not set().union(*words[max(i - _AROUND, 0) : i]) & set().union(*words[i : i + _AROUND])
        ]
        return "\n".join(f"## {lines[i][0]} Part {lines[i][0]}" for i in begins)
