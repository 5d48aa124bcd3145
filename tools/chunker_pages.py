"""The pages of the chunkers, from the registry, docs/chunkers.toml, docstrings, and the tables of the benchmarks."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import jinja2
from docstrings import entries, markdown, sections
from site_links import ROOT, SAMPLE, BrokenLink, site_path, title_of

from advchunk import Document, Explanation, GraphRAGChunker, create
from advchunk.chunkers.catalog import chunker_class, describe, names, params_of
from advchunk.chunkers.params import ChunkerGroup, Params

ANSWERS = ROOT / "docs" / "answers.json"
ABSTRACT = (
    "BACKGROUND: Sleep matters to health. METHODS: We watched 24 cats for a week. RESULTS: Cats slept 16.1 h vs "
    "8.2 h for "
    "dogs (p = 0.03). Kittens slept 18.0 h. CONCLUSIONS: Cats sleep more than dogs."
)


class Figures(NamedTuple):
    """A table in a benchmark page of which the pages of the chunkers show their rows."""

    page: str
    heading: str
    columns: slice = slice(None)


FIGURES = (
    Figures("RETRIEVAL.md", "Default sizes", slice(4)),
    Figures("CUTS.md", "Real text"),
    Figures("CUTS.md", "Presets on real text"),
    Figures("SPEED.md", "Growth"),
    Figures("CUTS.md", "Largest loss from a change of 20 %"),
)


@cache
def chunker_facts() -> dict[str, Any]:
    """Return what docs/chunkers.toml says, by chunker."""
    return tomllib.loads((ROOT / "docs" / "chunkers.toml").read_text(encoding="utf-8"))


def chunker_page(name: str) -> str:
    """Return the page of a chunker."""
    facts, own, chunker = describe(name), chunker_facts()[name], chunker_class(name)
    documented = sections(facts["documentation"])
    paragraphs = documented[""].split("\n\n")
    paragraphs = paragraphs[2 if facts["experimental"] else 1 :]  # without the summary, and the note
    texts = entries(documented.get("Parameters", ""))
    common = {field.name for field in fields(Params)}
    rows = [
        {"name": field.name, "default": f"`{field.default!r}`", "text": _cell(texts.get(field.name, ""))}
        for field in fields(params_of(chunker))
    ]
    stem = chunker.__name__.removesuffix("Chunker")
    template = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, keep_trailing_newline=True, autoescape=False
    )
    page = template.from_string((Path(__file__).parent / "pages" / "chunker.md").read_text(encoding="utf-8"))
    return page.render(
        name=name,
        stem=stem,
        summary=facts["summary"],
        experimental=facts["experimental"],
        instead=own["instead"] if facts["experimental"] else None,
        extra=facts["extra"],
        needs={"lm": "a causal language model, and ", "llm": "a chat model, and "}.get(facts["needs"], ""),
        remote=facts["needs"] is not None,
        example=example(name, stem),
        when=own["when"],
        avoid=own["avoid"],
        caption=own.get("caption"),
        on_sample=not own.keys() & {"document", "documents"},
        text=_link_benchmarks(markdown("\n\n".join(paragraphs))),
        source=facts["source"],
        references=markdown(documented.get("References", "")),
        own=[row for row in rows if row["name"] not in common],
        common=[row for row in rows if row["name"] in common],
        presets={
            preset: ", ".join(f"`{key}={value!r}`" for key, value in values.items())
            for preset, values in facts["presets"].items()
        },
        warnings=[
            _link_benchmarks(w[0].upper() + w[1:])
            for w in facts["warnings"]
            if not w.startswith(("experimental", "for production"))
        ],
        tables=list(measured(name)),
        pages=list(mentioned(name)),
    )


def _link_benchmarks(text: str) -> str:
    def link(match: re.Match[str]) -> str:
        return f"[{match[1]}](../{site_path(PurePosixPath(match[1]))})"

    return re.sub(r"`*(benchmarks/[A-Z]+\.md)`*", link, text)


def _cell(text: str) -> str:
    return markdown(text).replace("|", "\\|")


def example(name: str, stem: str) -> str:
    """Return the code that the page of a chunker shows."""
    lines = ["from pathlib import Path", f"from advchunk import {stem}Chunker", ""]
    texts = {
        "biomedical-abstract": f"text = {ABSTRACT.partition(' METHODS')[0]!r}",
        "grobid-section": 'text = Path("paper.tei.xml").read_text(encoding="utf-8")',
        "layout-aware": 'text = Path("report.json").read_text(encoding="utf-8")  # of Docling',
    }
    models = {
        "perplexity": 'lm="HuggingFaceTB/SmolLM2-135M", ',
        "margin-sampling": 'lm="HuggingFaceTB/SmolLM2-135M-Instruct", ',
        "llm-chaptering": 'llm=OpenAIChat("http://localhost:8000/v1", "Qwen/Qwen2.5-7B-Instruct"), ',
    }
    formats = {"grobid-section": 'markup="tei", ', "layout-aware": 'markup="docling", '}
    arguments = f"{models.get(name, '')}{formats.get(name, '')}max_tokens=300"
    if name == "llm-chaptering":
        lines[1] += ", OpenAIChat"
    if name == "biomedical-abstract":
        lines.pop(0)
    lines += [texts.get(name, 'text = Path("README.md").read_text(encoding="utf-8")')]
    lines += [
        f"for chunk in {stem}Chunker({arguments}).chunk(text):",
        "    print(chunk.id[:8], chunk.spans, chunk.tokens, repr(chunk.text[:40]))",
    ]
    return "\n".join(lines)


def measured(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows about a chunker in the tables of benchmarks, with title and link."""
    for page, heading, columns in FIGURES:
        text = (ROOT / "benchmarks" / page).read_text(encoding="utf-8")
        after = text.partition(f"# {heading}\n")[2]
        table = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
        if table is None:
            msg = f"benchmarks/{page} has no table under {heading!r}"
            raise BrokenLink(msg)
        head, _, *body = table[0].splitlines()
        subject = re.compile(rf"{re.escape(name)}(?=$|,| \()")
        rows = [row for row in body if subject.match(_cells(row)[0].strip("*` "))]
        if rows:
            kept = [" | ".join(_cells(row)[columns]) for row in (head, *rows)]
            rule = "|".join(["---"] * len(_cells(head)[columns]))
            lines = [f"| {kept[0]} |", f"|{rule}|", *(f"| {row} |" for row in kept[1:])]
            place = site_path(PurePosixPath("benchmarks", page))
            anchor = re.sub(r"[^\w]+", "-", heading.lower()).strip("-")
            yield {
                "title": f"{title_of(text)}: {heading[0].lower()}{heading[1:]}",
                "link": f"../{place}#{anchor}",
                "rows": "\n".join(lines),
            }


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def mentioned(name: str) -> Iterator[str]:
    """Yield links to the other benchmark pages that name a chunker."""
    for path in sorted((ROOT / "benchmarks").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if path.name not in {page for page, *_ in FIGURES} and re.search(
            rf"(?<![\w-]){re.escape(name)}(?![\w-])", text
        ):
            yield f"[{title_of(text)}](../{site_path(PurePosixPath('benchmarks', path.name))})"


def overview() -> str:
    """Return the page with all chunkers."""
    lines = [
        "# Chunkers",
        "",
        "If you are not sure which to use, start with `recursive`, which needs no embedder. `optimal-semantic` "
        "follows topics best. "
        "`advchunk recommend DIR` compares them on your own documents.",
    ]
    remarks: tuple[tuple[ChunkerGroup, str], ...] = (
        ("stable", ""),
        ("experimental", "Their results may change in any release; do not use them in production."),
    )
    for group, remark in remarks:
        lines += ["", f"## {group.capitalize()}", "", remark, "", '<div class="fold" markdown>', ""]
        lines += ["| chunker | what it does | after |", "|---|---|---|"]
        lines += [
            f"| [{name}]({name}.md) | {describe(name)['summary']} | {describe(name)['source']} |"
            for name in names(group)
        ]
        lines += ["", "</div>"]
    return "\n".join(lines) + "\n"


class RecordedModel:
    """A language model whose answers about the sample text tools/record_answers.py has written."""

    model_name = "recorded"

    def __init__(self) -> None:
        self._answers = json.loads(ANSWERS.read_text(encoding="utf-8"))

    def surprise(self, _text: str) -> tuple[list[int], list[float]]:
        """Return the ends of the sentences and their surprise, as if each were one token."""
        return self._answers["ends"], self._answers["surprise"]

    def choose(self, prompt: str, _options: Sequence[str]) -> list[float]:
        """Return the probability of each option."""
        probabilities: list[float] = self._answers["choices"][digest(prompt)]
        return probabilities


def digest(prompt: str) -> str:
    """Return a short name of a prompt."""
    return sha256(prompt.encode()).hexdigest()[:8]


def explained(name: str) -> Explanation:
    """Return the explanation that the picture of a chunker shows."""
    own = chunker_facts()[name]
    file = own.get("document", SAMPLE)
    text = ABSTRACT if file == "abstract" else (ROOT / file).read_text(encoding="utf-8")
    models: dict[str | None, dict[str, Any]] = {"lm": {"lm": RecordedModel()}, "llm": {"llm": lambda _: own["answer"]}}
    model = models.get(describe(name)["needs"], {})
    return create(name, experimental=True, **own.get("params", {}), **model).explain(Document(text, name))


def plot_entities(own: dict[str, Any], ax: Any) -> None:
    """Plot the graph of a corpus: entities in the colors of their smallest communities."""
    import networkx as nx

    documents = [Document(text, str(i)) for i, text in enumerate(own["documents"])]
    corpus = GraphRAGChunker(**own["params"]).chunk_corpus(documents)
    place = {member: f"C{community.number}" for community in corpus.communities for member in community.members}
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, edge.weight) for (a, b), edge in corpus.graph.edges.items())
    nx.draw_networkx(
        graph,
        nx.circular_layout(sorted(graph, key=lambda entity: (place[entity], entity))),
        ax=ax,
        labels={entity: corpus.graph.entities[entity].name.replace(" ", "\n") for entity in graph},
        node_color=[place[entity] for entity in graph],
        width=[3 * weight for *_, weight in graph.edges.data("weight")],
        edge_color="0.6",
        node_size=3000,
        font_size=9,
    )
    ax.margins(0.15)
    ax.set_axis_off()


def draw(name: str, folder: Path) -> None:
    """Write the picture of a chunker for light and for dark pages."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    from advchunk.cli.viewer import plots

    own = chunker_facts()[name]
    folder.mkdir(parents=True, exist_ok=True)
    for shade, style in (("light", "default"), ("dark", "dark_background")):
        square = own["plot"] in {"similarity", "entities"}
        look: Any = {"axes.facecolor": "none", "savefig.facecolor": "none", "font.size": 12}
        fixed: Any = {"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": name}
        with pyplot.style.context(style), pyplot.rc_context({**look, **fixed}):
            figure, ax = pyplot.subplots(figsize=(6, 5) if square else (8, 3), layout="constrained")
            if own["plot"] == "entities":
                plot_entities(own, ax)
            else:
                arguments = [own["figure"]] if "figure" in own else []
                getattr(plots, f"plot_{own['plot']}")(explained(name), *arguments, ax=ax)
            figure.savefig(folder / f"{name}-{shade}.svg", metadata={"Date": None})
            pyplot.close(figure)
