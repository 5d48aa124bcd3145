"""Write the numbers of lists and headings, as word processors do."""

import re

_SIGNS = "m cm d cd c xc l xl x ix v iv i".split()  # noqa: SIM905
_ROMAN = dict(zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), _SIGNS, strict=True))
_DIGITS = ["", *"一二三四五六七八九"]
_CHINESE = re.compile("chinese|taiwanese|ideographDigital|japaneseCounting|koreanCounting")
PRIVATE = re.compile("[\ue000-\uf8ff]")  # characters of fonts of symbols


def format_count(count: int, form: str) -> str:
    """Write a number in a format of ECMA-376 (``ST_NumberFormat``); unknown formats are decimal.

    >>> [format_count(4, form) for form in ("lowerRoman", "upperLetter", "ordinal", "none")]
    ['iv', 'D', '4th', '']
    """
    if form in {"none", "bullet"}:
        return ""
    text = str(count)
    if form in {"lowerLetter", "upperLetter"} and count > 0:
        text = chr(97 + (count - 1) % 26) * min((count - 1) // 26 + 1, 9)
    elif form in {"lowerRoman", "upperRoman"} and 0 < count < 5000:
        text, rest = "", count
        for part, sign in _ROMAN.items():
            text, rest = text + sign * (rest // part), rest % part
    elif form == "ordinal":
        ending = "th" if count % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")
        text = f"{count}{ending}"
    elif form == "decimalZero":
        text = f"{count:02}"
    elif form.startswith("decimalEnclosed") and 0 < count <= 20:
        text = chr(0x2460 + count - 1)
    elif _CHINESE.match(form) and 0 < count < 100:
        tens, ones = divmod(count, 10)
        text = f"{_DIGITS[tens] if tens > 1 else ''}{'十' if tens else ''}{_DIGITS[ones]}"
    return text.upper() if form.startswith("upper") else text


def bullet(sign: str) -> str:
    """Return the marker of an item with a bullet: "-", "-" and a box or check, or a word; "" if the bullet is blank."""
    if not sign.strip():
        return ""
    sign = PRIVATE.sub("", sign).strip()
    return sign if re.search(r"\w\w", sign) else f"- {sign}" if sign in set("☐☑☒✓✗") else "-"
