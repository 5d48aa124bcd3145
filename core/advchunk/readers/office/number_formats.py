"""Write the numbers of spreadsheets as they are displayed (ECMA-376, part 1, 18.8.31)."""

import operator
import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 37: "#,##0 ;(#,##0)", 38: "#,##0 ;(#,##0)",
    39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm", 19: "h:mm:ss", 20: "h:mm",  # noqa: E501
    21: "h:mm:ss", 22: "yyyy-mm-dd h:mm", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss",
    **dict.fromkeys((14, 15, *range(27, 37), *range(50, 59)), "yyyy-mm-dd"),
}  # fmt: skip
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|_.|\*.|\[\$([^\]-]*)[^\]]*\]|\[[^\]hms][^\]]*\]', re.IGNORECASE)
_SECTION = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')
_DIGITS = re.compile(r"[#0?][#0?,]*(?:\.([#0?]*))?(,*)")
_MARK = "\ue000"
_CONDITION = re.compile(r"\[(<=?|>=?|=)(-?\d+(?:\.\d+)?)\]")
_COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


def format_number(number: float, code: str, *, from_1904: bool = False) -> str:
    """Write a number in the format of its cell; a date or a time is in ISO 8601, as precise as the format. Fractions,
    exponents, and unknown formats are plain numbers.

    >>> format_number(46082, "dd.mm.yyyy"), format_number(46082.5, "mmm yyyy"), format_number(1.5, "[h]:mm")
    ('2026-03-01', '2026-03', '36:00')
    """
    if code in {"", "General"}:
        return _plain(number)
    section, is_signed = _section(number, _SECTION.split(code))
    literals = list[str]()

    def keep(match: re.Match[str]) -> str:
        literals.append(match[1] or match[2] or match[3] or "")
        return _MARK if literals[-1] else " " * match[0].startswith("_")

    plain = _LITERAL.sub(keep, section)
    texts = iter(filter(None, literals))
    if re.search("[ymdhs]", plain, re.IGNORECASE) and not re.fullmatch("(?i)general", plain.strip()):
        return _format_date(number, plain.lower(), from_1904)
    if not (digits := _DIGITS.search(plain)) or re.search(r"E[+-]|[#0?] *\S*/", plain):
        return _plain(number) if digits or not literals else "".join(literals).strip()
    number = number if is_signed else abs(number)
    text = _format_digits(number * 100 ** plain.count("%") / 1000 ** len(digits[2]), digits)
    is_parted = _DIGITS.search(plain, digits.end())
    written = _fill(number, plain) if is_parted else plain[: digits.start()] + text + plain[digits.end() :]
    return re.sub(_MARK, lambda _: next(texts, ""), written).strip()


def _section(number: float, sections: list[str]) -> tuple[str, bool]:
    """Return the section of a format that is for a number, and True if the number has its sign there."""
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        pairs = zip(sections, conditions, strict=True)
        own = (section for section, rule in pairs if rule is None or _COMPARE[rule[1]](number, float(rule[2])))
        return next(own, sections[-1]), True
    place = 1 if number < 0 else 2 if number == 0 else 0
    return sections[place if place < len(sections) else 0], len(sections) == 1


def _fill(number: float, plain: str) -> str:
    """Write the digits of a number into a format that parts them, such as that of telephone numbers."""
    count = len(re.findall("[#0?]", plain))
    text = f"{round(number):d}".rjust(count)
    extra = len(text) - count + 1
    signs = iter([text[:extra], *text[extra:]])
    return re.sub("[#0?]", lambda place: next(signs).strip() or place[0].strip("#?"), plain)


def _format_digits(number: float, digits: re.Match[str]) -> str:
    places = digits[1] or ""
    least = len(places.rstrip("#"))
    try:
        exact = Decimal(repr(number)).quantize(Decimal(1).scaleb(-len(places)), ROUND_HALF_UP)
    except ArithmeticError:
        return _plain(number)
    text = f"{exact:,f}" if "," in digits[0].partition(".")[0].rstrip(",") else f"{exact:f}"
    whole, _, decimals = text.partition(".")
    decimals = decimals[:least] + decimals[least:].rstrip("0")
    zeros = re.sub("^[#?,]*(0*).*", r"\1", digits[0])
    whole = whole.zfill(len(zeros)) if zeros or whole != "0" else ""
    return whole + (f".{decimals}" if decimals else "")


def _format_date(number: float, code: str, from_1904: bool) -> str:
    days = number + (1462 if from_1904 else 1 if 0 < number < 60 else 0)
    try:
        moment = datetime(1899, 12, 30) + timedelta(seconds=round(days * 86400))
    except OverflowError:
        return _plain(number)
    has_time, has_year, has_day = bool(re.search("[hs]", code)), "y" in code, "d" in code
    if elapsed := re.search(r"\[([hms])+\]", code):
        seconds = round(number * 86400)
        if elapsed[1] != "h":
            return str(seconds // {"m": 60, "s": 1}[elapsed[1]])
        return f"{seconds // 3600}:{seconds % 3600 // 60:02}" + (f":{seconds % 60:02}" if "s" in code else "")
    day = moment.strftime("%Y-%m-%d") if has_day or not has_time else ""
    if has_year and not has_day:
        day = moment.strftime("%Y-%m" if "m" in code and not has_time else "%Y")
    is_midnight = day and moment.hour == moment.minute == moment.second == 0
    time = moment.strftime("%H:%M:%S" if "s" in code else "%H:%M") if has_time and not is_midnight else ""
    return f"{day} {time}".strip()


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else f"{number:.15g}"
