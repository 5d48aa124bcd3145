"""The rules of LaTeX, reStructuredText, AsciiDoc and Org."""

from advchunk.readers.embedded import SECTION, VERBATIM
from advchunk.readers.markdown import FORMULA_ENVIRONMENT
from advchunk.readers.markups.lines import LineRule, Markup
from advchunk.text.tables import TABLE_ENVIRONMENT

_END = r"[ \t]*(?=\n|\Z)"

# An environment is closed by its own end, as many times as it is opened.
_OPENS = r"[ \t]*\\begin\{{(?P<close>{})\}}"
_UNTIL = r"(?P<again>\\begin\{{close}\})|\\end\{{close}\}"
_BRACES = r"\{(?!\s*\})(?P<title>(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+)\}"
LATEX = Markup(
    rules=(
        LineRule("code", r"[ \t]*%", "same", interrupts=False),  # comments
        LineRule("code", r"[ \t]*\\documentclass(?![a-zA-Z])", r"\\begin\{document\}"),
        LineRule("heading", rf"[ \t]*{SECTION}", "match"),
        LineRule("code", _OPENS.format(rf"{VERBATIM}|comment|tikzpicture"), r"\\end\{{close}\}"),
        LineRule("table", _OPENS.format(TABLE_ENVIRONMENT), _UNTIL),
        LineRule("figure", _OPENS.format(r"(?:sub|wrap)?figure\*?"), _UNTIL),
        LineRule("code", _OPENS.format(r"algorithm\*?|algorithmic"), _UNTIL),
        LineRule("formula", _OPENS.format(FORMULA_ENVIRONMENT), _UNTIL),
        LineRule("formula", r"[ \t]*\$\$", r"\$\$"),
        LineRule("formula", r"[ \t]*\\\[", r"\\\]"),
        LineRule("reference", r"[ \t]*\\bibitem(?![a-zA-Z])"),
        LineRule("item", r"[ \t]*\\item(?![a-zA-Z])"),
    ),
    fields={"title": rf"^[ \t]*\\title{_BRACES}", "authors": rf"^[ \t]*\\author{_BRACES}"},
    environments=r"\\(?:(?P<begin>begin)|end)\{(?:itemize|enumerate|description|compactitem|compactenum)\*?\}",
)  # fmt: skip

_ADORNMENT = r"[!-/:-@\[-`{-~]"
_DIRECTIVE = r"[ \t]*\.\. (?:\|[^|\n]+\| )?(?:{})::"
_ADMONITIONS = "note|tip|hint|important|warning|caution|danger|error|attention|admonition|seealso|epigraph|highlights"
_BORDER = r"[ \t]*=+(?:[ \t]+=+)+"
RST = Markup(
    rules=(
        LineRule("heading", rf"(?P<over>(?P<style>{_ADORNMENT})(?P=style){{2,}}){_END}\n[ "
                            rf"\t]*(?P<title>\S[^\n]*)\n(?P=over){_END}", "match", interrupts=False),
        LineRule("heading", rf"(?P<title>[^\s][^\n]*)\n(?P<style>{_ADORNMENT})(?P=style){{2,}}{_END}", "match", interrupts=False),  # noqa: E501
        LineRule("code", _DIRECTIVE.format("code|code-block|sourcecode|parsed-literal|highlight|ipython|prompt"), "deeper"),  # noqa: E501
        LineRule("formula", _DIRECTIVE.format("math"), "deeper"),
        LineRule("table", _DIRECTIVE.format("table|csv-table|list-table"), "deeper"),
        LineRule("figure", _DIRECTIVE.format("figure|image"), "deeper"),
        LineRule("quote", _DIRECTIVE.format(_ADMONITIONS), "deeper"),
        LineRule("footnote", r"\.\. \[[^\]\n]+\] ", "deeper"),
        LineRule("table", rf"{_BORDER}{_END}", rf"^{_BORDER}{_END}(?=\n[ \t]*\n|\n?\Z)", interrupts=False),
        LineRule("table", rf"[ \t]*\+(?:[-=]+\+)+{_END}|[ \t]*\|(?=[^\n]*\|{_END})", "same", interrupts=False),
        LineRule("code", r"[ \t]*>>> ", interrupts=False),
        LineRule("code", r"[ \t]+\S", "as deep", interrupts=False, after="::"),
        LineRule("item", r"[ \t]*(?:[-+*•‣]|(?:\d{1,9}|#|[a-z])[.)]|\((?:\d{1,9}|[a-z])\)|:[^:\s][^:\n]*:)(?=[ "
                         r"\t\n]|\Z)", interrupts=False),
    )
)  # fmt: skip

ASCIIDOC = Markup(
    rules=(
        LineRule(None, rf"\[[^\n]*\]{_END}"),
        LineRule("heading", r"(?P<level>={1,6}|#{1,6})[ \t]+(?P<title>\S[^\n]*)", "match"),
        LineRule("code", rf"(?P<close>-{{4,80}}|\.{{4,80}}|/{{4,80}}|\+{{4,80}}){_END}", rf"^{{close}}{_END}"),
        LineRule("code", r"(?P<close>```)", rf"^{{close}}{_END}"),
        LineRule("table", rf"(?P<close>[|,:!]={{3,80}}){_END}", rf"^{{close}}{_END}"),
        LineRule("quote", rf"(?P<close>_{{4,80}}){_END}", rf"^{{close}}{_END}"),
        LineRule("paragraph", rf"(?:={{4,80}}|\*{{4,80}}|--|\+|'{{3,}}|<<<){_END}", "line"),
        LineRule("quote", r"(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]"),
        LineRule("figure", r"(?:image|video|audio)::[^\n]*\]", "line"),
        LineRule("caption", r"\.[^\s.][^\n]*", "line", interrupts=False),
        LineRule("item", r"[ \t]*(?:(?P<marks>\*{1,6}|\.{1,6})|-|\d{1,9}\.)[ \t]+(?=\S)", interrupts=False),
        LineRule("item", r"[ \t]*[^\s:][^\n]*?::(?=[ \t\n]|\Z)", interrupts=False),
        LineRule("code", r"[ \t]+\S", interrupts=False),
    )
)  # fmt: skip

ORG = Markup(
    rules=(
        LineRule("code", r"#\+(?!(?i:begin_|caption|name|attr_|header|results|tblfm))[a-zA-Z_]+:[^\n]*", "same"),
        LineRule(None, r"[ \t]*#\+(?i:name|attr_\w+|header|results)(?:\[[^\]\n]*\])?:"),
        LineRule("caption", r"[ \t]*#\+(?i:caption)(?:\[[^\]\n]*\])?:[^\n]*", "line"),
        LineRule("heading", r"(?P<level>\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#[A-Z0-9]\][ "
                            r"\t]+)?(?P<title>[^\n]*?)(?=[ \t]+:[\w@#%:]+:[ \t]*(?:\n|\Z)|[ \t]*(?:\n|\Z))", "line"),
        LineRule("code", r"[ \t]*#\+(?i:begin)_(?P<close>(?i:src|example|export|comment))(?![a-zA-Z])", rf"^[ \t]*#\+end_{{close}}{_END}"),  # noqa: E501
        LineRule("quote", r"[ \t]*#\+(?i:begin)_(?P<close>(?i:quote|verse|center))(?![a-zA-Z])", rf"^[ \t]*#\+end_{{close}}{_END}"),  # noqa: E501
        LineRule("code", rf"[ \t]*:(?:[A-Z]+):{_END}", rf"^[ \t]*:END:{_END}"),
        LineRule("formula", r"[ \t]*\\begin\{(?P<close>[a-zA-Z]+\*?)\}", r"\\end\{{close}\}"),
        LineRule("formula", r"[ \t]*\\\[", r"\\\]"),
        LineRule("table", r"[ \t]*(?:\||#\+(?i:tblfm):)", "same"),
        LineRule("code", r"[ \t]*:(?=[ \n]|\Z)", "same"),
        LineRule("footnote", r"\[fn:[^\]\n]+\][ \t]"),
        LineRule("item", r"(?:[ \t]*(?:[-+]|(?:\d{1,9}|[a-zA-Z])[.)])|[ \t]+\*)(?=[ \t\n]|\Z)"),
    ),
    fields={
        "authors" if name == "author" else name: rf"^#\+(?i:{name}):[ \t]*(?P<title>[^\n]+)"
        for name in ("title", "author", "language", "description")
    },
)  # fmt: skip
