"""Chat models for tests that are none."""

import json
import re
from dataclasses import dataclass, field

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


@dataclass
class EntityReader:
    """A stand-in that finds capitalized pairs of words, half of them only when asked again, and titles communities."""

    broken: str = ""  # part of a prompt that it answers with garbage
    calls: list = field(default_factory=list)
    stop_after: int = 10**9
    model_name: str = "reader"

    def __call__(self, prompt):
        if len(self.calls) >= self.stop_after:
            raise KeyboardInterrupt
        self.calls.append(prompt)
        if self.broken and self.broken in prompt:
            return "I cannot help with that."
        if "<material>" in prompt:
            lines = prompt.partition("<material>")[2].strip().splitlines()
            return json.dumps({"title": "Of " + lines[0][:20], "summary": f"{len(lines)} lines."})
        text = prompt.partition("<text>")[2].partition("</text>")[0]
        names = list(dict.fromkeys(re.findall(r"[A-Z]\w+ [A-Z]\w+", text)))
        shown = names[1::2] if "may be missing" in prompt else names[::2]
        entities = [
            {"name": name, "kind": "Person", "description": f"{name} is there."} for name in shown and [*shown, "Zeus"]
        ]
        relations = [
            {"source": a, "target": b, "description": "They meet.", "strength": 7}
            for a in names
            for b in names
            if a < b
        ]
        return json.dumps({"entities": entities, "relations": [*relations, {"source": "Zeus", "target": "Zeus"}]})
