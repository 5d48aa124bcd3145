"""Write small PDFs by hand: pages with positioned text, rules, and boxes."""

import zlib

_TO_PRIVATE_USE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap
1 begincodespacerange <00> <ff> endcodespacerange
1 beginbfrange <21> <7e> <e021> endbfrange
endcmap end end"""


def _font_objects(first):
    """Return the objects of the fonts of `Paper`, and those they refer to; the first has the number ``first``."""
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding %s >>"
    composite = "/Type /Font /Subtype /Type0 /BaseFont /Unmapped /Encoding /Identity-H"
    system = "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
    descendant = f"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Unmapped {system} /DW 500 >>"
    return [
        *((font % (name, "")).encode() for name in ("Helvetica", "Helvetica-Bold", "Courier")),
        (font % ("Helvetica", f"/ToUnicode {first + 5} 0 R")).encode(),
        f"<< {composite} /DescendantFonts [{first + 6} 0 R] >>".encode(),
        f"<< /Length {len(_TO_PRIVATE_USE)} >>\nstream\n".encode() + _TO_PRIVATE_USE + b"\nendstream",
        descendant.encode(),
    ]


class Paper:
    """A PDF with text in standard fonts; coordinates are points from the top left, as in the blocks that the reader
    returns.

    The font "symbols" has characters of the private use area, and "unmapped" has codes without any character.
    """

    fonts = ("regular", "bold", "mono", "symbols", "unmapped")

    def __init__(self, width=595, height=842, title="", rotate=0, crop=None):
        self.width, self.height, self.title = width, height, title
        self.rotate, self.crop, self._pages = rotate, crop, []

    def page(self):
        self._pages.append([])
        return self

    def text(self, x, baseline, content, size=10, bold=False, font="regular"):
        font = f"F{self.fonts.index('bold' if bold else font) + 1}"
        escaped = content.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")
        at = f"BT /{font} {size} Tf {x} {self.height - baseline} Td (".encode() + escaped + b") Tj ET"
        self._pages[-1].append(at)
        return self

    def raw(self, operators):
        """Add operators of a content stream; their origin is the bottom left."""
        self._pages[-1].append(operators.encode())
        return self

    def lines(self, x, baseline, lines, size=10, leading=12, font="regular"):
        for i, line in enumerate(lines):
            self.text(x, baseline + i * leading, line, size, font=font)
        return self

    def box(self, x, top, width, height, gray=1.0):
        low = self.height - top - height
        self._pages[-1].append(f"{gray} g 0 G {x} {low} {width} {height} re B 0 g".encode())
        return self

    def data(self, encrypt=b""):
        """Return the bytes of the file."""
        count = len(self._pages)
        objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", *_font_objects(3)]
        first = len(objects) + 1
        kids = " ".join(f"{first + 2 * i} 0 R" for i in range(count))
        objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode()
        fonts = " ".join(f"/F{i + 1} {3 + i} 0 R" for i in range(len(self.fonts)))
        crop = f" /CropBox [{' '.join(map(str, self.crop))}]" if self.crop else ""
        for i, page in enumerate(self._pages):
            stream = zlib.compress(b"\n".join(page))
            resources = f"/Resources << /Font << {fonts} >> >>"
            objects += [
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.width} {self.height}]{crop} /Rotate {self.rotate} "
                f"{resources} /Contents {first + 2 * i + 1} 0 R >>".encode(),
                f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream",
            ]
        objects.append(f"<< /Title ({self.title}) >>".encode())
        out, starts = b"%PDF-1.4\n", []
        for number, body in enumerate(objects, start=1):
            starts.append(len(out))
            out += b"%d 0 obj\n" % number + body + b"\nendobj\n"
        table = b"".join(b"%010d 00000 n \n" % start for start in starts)
        trailer = b"<< /Size %d /Root 1 0 R /Info %d 0 R %s >>" % (len(starts) + 1, len(starts), encrypt)
        head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(starts) + 1)
        return out + head + table + b"trailer\n" + trailer + b"\nstartxref\n%d\n%%%%EOF\n" % len(out)
