"""Pages of HTML, and texts, from templates."""

from functools import lru_cache
from typing import Any

import jinja2


def fill_page(template: str, /, **values: Any) -> str:
    """Return a Jinja template of HTML filled with escaped values; `tojson` is safe in a script."""
    return _compiled(template, escape=True).render(**values)


def fill_text(template: str, /, **values: Any) -> str:
    """Return a Jinja template of text, such as Markdown or code, filled with values as they are."""
    return _compiled(template, escape=False).render(**values)


@lru_cache
def _compiled(template: str, *, escape: bool) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=escape, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "default": str}
    return environment.from_string(template)
