"""Pages of HTML from templates."""

from typing import Any

import jinja2


def fill_page(template: str, /, **values: Any) -> str:
    """Return a Jinja template filled with values, which are escaped; `tojson` writes compact JSON that is safe in a script.

    >>> fill_page("<p>{{ text }}</p>", text="a < b")
    '<p>a &lt; b</p>'
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "default": str}
    return environment.from_string(template).render(**values)
