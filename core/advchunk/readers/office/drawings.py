"""The drawings of Word files, slides, and sheets: their paragraphs, SmartArt, charts, and pictures."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

from advchunk.readers.counting import format_count
from advchunk.readers.inline import join_scripts
from advchunk.readers.office.flow import Flow, link
from advchunk.readers.office.formulas import read_formula
from advchunk.readers.office.package import Package, child_at, children, every, holders, number, short, value
from advchunk.readers.writing import pipe_table, squeeze

_LEFT_OUT = dict.fromkeys(("pic:pic", "p:pic", "xdr:pic", "v:imagedata"), "pictures")
_LEFT_OUT |= dict.fromkeys(("o:OLEObject", "p:oleObj"), "embedded objects")
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|[ew]mf|bmp|tiff?|svg)", re.IGNORECASE)
# The note of Office below its own description of a picture.
_GENERATED = re.compile(r"\n\s*\n[^\n]{0,60}(?:AI\b|AI.generated|automatic|生成|自动|自動)[^\n]*\Z")
_AUTOMATIC = re.compile("(arabic|alphaLc|alphaUc|romanLc|romanUc)(Period|ParenR|ParenBoth|Plain)")
_FORMS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman"}
_WRITTEN = {"ParenR": "{})", "ParenBoth": "({})", "Plain": "{}"}  # others end with a period


def read_drawing(
    drawing: Any, part: str, package: Package, flow: Flow, own: Mapping[str, Callable[[Any], None]] | None = None
) -> Iterator[Callable[[], None]]:
    """Yield functions that add each paragraph, SmartArt, and chart to the flow; ``own`` adds others, by their names."""
    add = {"a:p": lambda element: flow.paragraph("paragraph", _pieces(element, flow.targets)), **(own or {})}
    add["a:r"] = lambda element: flow.paragraph("paragraph", _pieces([element], flow.targets))  # outside of paragraphs
    for element in visible(drawing, add):
        name = short(element.tag)
        if name in add:
            yield partial(add[name], element)
        elif name == "v:textpath":
            yield partial(flow.add, "figure", element.get("string", ""))
        elif name in _RELATED:
            add_related, key = _RELATED[name]
            _, target = package.relations(part).get(value(element, key=key), ("", ""))
            yield partial(add_related, flow, package.xml(target))
        if name in _LEFT_OUT:
            flow.left_out[_LEFT_OUT[name]] += 1


def visible(drawing: Any, stop: Collection[str]) -> Iterator[Any]:
    """Yield the elements of a drawing, of alternatives only one, without those in elements of the names ``stop``."""
    for element in children(drawing):
        yield element
        if short(element.tag) not in stop:
            yield from visible(element, stop)


def description(element: Any) -> str:
    """Return the description of a picture, or "" if it is none, such as the name of a file."""
    text = squeeze(_GENERATED.sub("", element.get("descr") or element.get("alt") or ""))
    return "" if _FILE_NAME.fullmatch(text) else text


def _add_diagram(flow: Flow, root: Any) -> None:
    """Add the texts of SmartArt, line by line."""
    lines = map(drawn_text, every(root, "a:p", deep=True))
    flow.add("figure", "\n".join(filter(None, map(squeeze, lines))))


def _add_chart(flow: Flow, root: Any) -> None:
    """Add the title of a chart, and the values of its series as a table."""
    title = " ".join(map(drawn_text, every(child_at(root, "c:chart/c:title"), "a:p", deep=True)))
    heads, columns = [""], list[dict[int, str]]()
    for series in every(root, "c:ser", deep=True):
        if not columns:
            columns.append(_points(child_at(series, "c:cat")) or _points(child_at(series, "c:xVal")))
        heads.append(squeeze(" ".join(_points(child_at(series, "c:tx")).values())))
        columns.append(_points(child_at(series, "c:val")) or _points(child_at(series, "c:yVal")))
    rows = sorted({index for column in columns for index in column})
    flow.add("caption", squeeze(title))
    if rows:
        flow.add("table", pipe_table([heads, *([column.get(i, "") for column in columns] for i in rows)]))
    elif not title:
        flow.left_out["charts"] += 1


def _points(element: Any) -> dict[int, str]:
    points = {
        number(point, key="idx"): text
        for point in every(element, "c:pt", deep=True)
        if (text := "".join(v.text or "" for v in every(point, "c:v")))
    }
    return points or {i: v.text or "" for i, v in enumerate(every(element, "c:v", deep=True))}


# Elements that refer to parts of their own, and the attributes by which they do.
_RELATED = {"dgm:relIds": (_add_diagram, "r:dm"), "c:chart": (_add_chart, "r:id")}


def drawn_text(paragraph: Any) -> str:
    """Return the text of a paragraph of DrawingML (``a:p``), with its formulas."""
    return join_scripts(_pieces(paragraph, {}))


def _pieces(parent: Any, targets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for element in children(parent):
        name = short(element.tag)
        if name in {"a:r", "a:fld"}:
            raised = number(element, "a:rPr", key="baseline")
            text = "".join(t.text or "" for t in every(element, "a:t", deep=True)).replace("\v", "\n")
            target = targets.get(value(element, "a:rPr/a:hlinkClick", "r:id"), "")
            yield from link([(text, "sup" if raised > 0 else "sub" if raised < 0 else "")], target)
        elif name == "a:t":
            yield element.text or "", ""
        elif name == "a:br":
            yield "\n", ""
        elif name in {"m:oMath", "m:oMathPara"}:
            yield f" {read_formula(element)} ", ""
        elif name not in {"a:pPr", "a:endParaRPr"}:
            yield from _pieces(element, targets)


def add_paragraphs(flow: Flow, body: Any, plain: Collection[int] | None) -> None:
    """Add paragraphs; those at ``plain`` levels have no bullets unless they say so; with None, none has any."""
    counts = Counter[int]()
    for paragraph in holders(body, "a:p", "a:r", "a:t"):
        pieces, properties = [*_pieces(paragraph, flow.targets)], child_at(paragraph, "a:pPr")
        if not any(text.strip() for text, _ in pieces):
            continue
        depth = min(max(number(properties, key="lvl"), 0), 8)
        label = "-" if plain is not None and depth not in plain else ""
        if child_at(properties, "a:buNone") is not None:
            label = ""
        elif child_at(properties, "a:buChar") is not None:
            label = "-"
        elif (automatic := child_at(properties, "a:buAutoNum")) is not None:
            start = number(automatic, key="startAt", default=1)
            counts[depth] += 1
            match = _AUTOMATIC.fullmatch(value(automatic, key="type"))
            form, signs = match.groups() if match else ("", "")
            count = format_count(start + counts[depth] - 1, _FORMS.get(form, "decimal"))
            label = _WRITTEN.get(signs, "{}.").format(count)
        for deeper in [own for own in counts if own > depth or (own == depth and not label)]:
            del counts[deeper]
        flow.paragraph("paragraph", pieces, label=label, depth=depth)
