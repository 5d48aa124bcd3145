"""Build the documentation in build/site: collect and write the pages, run Zensical, and check every link. Needs no
network.
"""

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
from gallery import gallery
from reference_pages import MODULES, parameters, reference, reference_for_authors
from site_links import ROOT, SAMPLE, check, relink, site_path, title_of

from advchunk.chunkers.catalog import names

BUILD = ROOT / "build"
GUIDES = {
    "Chunk files": ("files", "sizes", "command-line"),
    "Choose a chunker": ("chunkers", "evaluation", "hierarchies"),
    "Retrieve": ("retrieval", "stores", "models"),
    "Use a framework": ("langchain", "llamaindex", "migration"),
    "Keep an index in step, and scale": ("documents-that-change", "many-documents"),
    "Extend": ("extend",),
}


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
    for name in chunker_facts():
        write(f"chunkers/{name}.md", chunker_page(name))
        draw(name, pages / "plots")
    for name, text in gallery().items():
        write(f"gallery/{name}", text)
    for module in MODULES:
        write(f"api/{module}.md", reference(module))
    write("api/parameters.md", parameters())
    write("api/authors.md", reference_for_authors())
    write("guides/index.md", guides_overview(pages))


def guides_by_group(pages: Path) -> dict[str, list[str]]:
    """Return the guides that are written; those that `GUIDES` does not name are last."""
    names = {path.stem for path in (pages / "guides").glob("*.md")} - {"index"}
    others = sorted(names.difference(*GUIDES.values()))
    groups = {**GUIDES, "More": others}
    listed = {group: [f"guides/{name}.md" for name in own if name in names] for group, own in groups.items()}
    return {group: own for group, own in listed.items() if own}


def guides_overview(pages: Path) -> str:
    """Return the page with all guides."""
    parts = ["# Guides"]
    for group, guides in guides_by_group(pages).items():
        titles = (title_of((pages / guide).read_text(encoding="utf-8")) for guide in guides)
        links = [f"* [{title}]({Path(guide).name})" for title, guide in zip(titles, guides, strict=True)]
        parts += [f"## {group}", "\n".join(links)]
    return "\n\n".join(parts) + "\n"


def navigation(pages: Path) -> list[Any]:
    """Return the navigation: every page in its section."""

    def listed(folder: str) -> list[str]:
        index = f"{folder}/index.md"
        others = sorted(str(path.relative_to(pages)) for path in (pages / folder).glob("*.md"))
        return [index] * (index in others) + [other for other in others if other != index]

    stable, experimental = (
        [f"chunkers/{name}.md" for name in listed_names] for listed_names in (names("stable"), names("experimental"))
    )
    project = ["changelog.md", "contributing.md", {"Sample text": "harbour_town.md"}]
    guides = [{group: own} for group, own in guides_by_group(pages).items()]
    return [
        {"Start": ["index.md", "gallery/index.md", "concepts.md", "faq.md", "licenses.md", {"Project": project}]},
        {"Guides": ["guides/index.md", *guides]},
        {"Chunkers": ["chunkers/index.md", *stable]},
        {"Notebooks": listed("notebooks")},
        {
            "Reference": [
                "api/parameters.md",
                *({module: f"api/{module}.md"} for module in MODULES),
                {"For authors": "api/authors.md"},
            ]
        },
        {"Benchmarks": [*listed("benchmarks"), {"Model card": "built-in-embedder.md"}]},
        {"Laboratory": experimental},
    ]


def build() -> list[str]:
    """Build the site and return its broken links."""
    shutil.rmtree(BUILD, ignore_errors=True)
    pages = BUILD / "pages"
    write_pages(pages)
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config["nav"] = navigation(pages)
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
