"""Build the documentation in build/site: collect and write the pages, run Zensical, and check every link. Needs no network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
import yaml
from chunker_pages import chunker_facts, chunker_page, draw, overview
from reference_pages import MODULES, parameters, reference, reference_for_authors
from site_links import ROOT, SAMPLE, check, relink, site_path, title_of

from advchunk.chunkers.catalog import names

BUILD = ROOT / "build"
GUIDES = (
    "installation", "chunkers", "langchain", "llamaindex", "retrieval", "evaluation", "viewing", "sizes-and-tokens", "structured-documents", "structure",
    "hierarchies", "many-documents", "documents-that-change", "distributed", "metadata", "own-embedder", "language-models", "own-algorithm", "plugins", "experimental", "biomedical",
    "command-line", "migration",
)  # fmt: skip


def collect() -> dict[PurePosixPath, PurePosixPath]:
    """Return the files of the repository that are on the site, with their places."""
    tracked = (
        path.relative_to(ROOT) for folder in ("docs", "benchmarks", "notebooks") for path in (ROOT / folder).rglob("*")
    )
    single = ("CHANGELOG.md", "CONTRIBUTING.md", "core/advchunk/models/assets/MODEL_CARD.md", SAMPLE)
    paths = sorted(map(PurePosixPath, (*map(str, tracked), *single)))
    return {path: place for path in paths if (place := site_path(path)) is not None and (ROOT / path).is_file()}


def notebook(path: PurePosixPath, place: PurePosixPath) -> tuple[str, Mapping[str, bytes]]:
    """Return a notebook as Markdown with the links of the site, and its pictures by name."""
    from nbconvert import MarkdownExporter

    exporter: Any = MarkdownExporter
    content = nbformat.read(ROOT / path, as_version=4)
    for cell in content.cells:
        if cell.cell_type == "markdown":
            cell.source = relink(cell.source, path, place)
    text, parts = exporter().from_notebook_node(content, {"unique_key": path.stem})
    return text, parts["outputs"]


def write_pages(pages: Path) -> None:
    """Write every page, and what the pages show."""

    def write(place: str | PurePosixPath, text: str) -> None:
        file = pages / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    for path, place in collect().items():
        source = ROOT / path
        if path.suffix == ".ipynb":
            text, pictures = notebook(path, place)
            write(place, text)
            for name, content in pictures.items():
                (pages / place.parent / name).write_bytes(content)
        elif path.suffix == ".md":
            write(place, relink(source.read_text(encoding="utf-8"), path, place))
        else:
            (pages / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, pages / place)
    write("chunkers/index.md", overview())
    for name, own in chunker_facts().items():
        write(f"chunkers/{name}.md", chunker_page(name))
        if "plot" in own:
            draw(name, pages / "plots")
    for module in MODULES:
        write(f"api/{module}.md", reference(module))
    write("api/parameters.md", parameters())
    write("api/authors.md", reference_for_authors())
    guides = _guides(pages)
    if guides:
        links = [f"* [{title_of((pages / guide).read_text(encoding='utf-8'))}]({Path(guide).name})" for guide in guides]
        write("guides/index.md", "\n".join(["# Guides", "", *links, ""]))


def _guides(pages: Path) -> list[str]:
    """Return the guides, those in `GUIDES` first."""
    names = {path.stem for path in (pages / "guides").glob("*.md")} - {"index"}
    order = {name: place for place, name in enumerate(GUIDES)}
    return [f"guides/{name}.md" for name in sorted(names, key=lambda name: (order.get(name, len(order)), name))]


def navigation(pages: Path) -> list[Any]:
    """Return the navigation: every page in its section."""

    def listed(folder: str) -> list[str]:
        index = f"{folder}/index.md"
        others = sorted(str(path.relative_to(pages)) for path in (pages / folder).glob("*.md"))
        return [index] * (index in others) + [other for other in others if other != index]

    stable, experimental = (
        [f"chunkers/{name}.md" for name in listed_names] for listed_names in (names("stable"), names("experimental"))
    )
    return [
        {
            "Start": [
                "index.md",
                "concepts.md",
                "faq.md",
                "changelog.md",
                "contributing.md",
                {"Sample text": "harbour_town.md"},
            ]
        },
        {"Guides": ["guides/index.md", *_guides(pages)]} if _guides(pages) else {},
        {"Chunkers": ["chunkers/index.md", {"Stable": stable}, {"Experimental": experimental}]},
        {"Notebooks": listed("notebooks")},
        {"Benchmarks": [*listed("benchmarks"), {"Model card": "built-in-embedder.md"}]},
        {
            "Reference": [
                "api/parameters.md",
                *({module: f"api/{module}.md"} for module in MODULES),
                {"For authors": "api/authors.md"},
            ]
        },
    ]


def build() -> list[str]:
    """Build the site and return its broken links."""
    shutil.rmtree(BUILD, ignore_errors=True)
    pages = BUILD / "pages"
    write_pages(pages)
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config["nav"] = [section for section in navigation(pages) if section]
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "mkdocs.yml"]
    subprocess.run(command, cwd=BUILD, check=True)
    return check(BUILD / "site")


def main() -> None:
    """Build the site; fail on a warning or a broken link."""
    if broken := build():
        sys.exit("broken links:\n" + "\n".join(broken))
    print(f"{BUILD / 'site' / 'index.html'}: every link leads somewhere")


if __name__ == "__main__":
    main()
