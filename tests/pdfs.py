"""Write small PDFs by hand: pages with positioned text, rules, and boxes."""

import zlib


class Paper:
    """A PDF with text in Helvetica; coordinates are points from the top left, as in the blocks that the reader returns."""

    def __init__(self, width=595, height=842, title="", rotate=0, crop=None):
        self.width, self.height, self.title = width, height, title
        self.rotate, self.crop, self._pages = rotate, crop, []

    def page(self):
        self._pages.append([])
        return self

    def text(self, x, baseline, content, size=10, bold=False):
        font = "F2" if bold else "F1"
        escaped = content.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")
        at = f"BT /{font} {size} Tf {x} {self.height - baseline} Td (".encode() + escaped + b") Tj ET"
        self._pages[-1].append(at)
        return self

    def lines(self, x, baseline, lines, size=10, leading=12):
        for i, line in enumerate(lines):
            self.text(x, baseline + i * leading, line, size)
        return self

    def box(self, x, top, width, height, gray=1.0):
        low = self.height - top - height
        self._pages[-1].append(f"{gray} g 0 G {x} {low} {width} {height} re B 0 g".encode())
        return self

    def data(self, encrypt=b""):
        """Return the bytes of the file."""
        count = len(self._pages)
        kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(count))
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>"
        objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
            (font % "Helvetica").encode(),
            (font % "Helvetica-Bold").encode(),
        ]
        crop = f" /CropBox [{' '.join(map(str, self.crop))}]" if self.crop else ""
        for i, page in enumerate(self._pages):
            stream = zlib.compress(b"\n".join(page))
            resources = "/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >>"
            objects += [
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {self.width} {self.height}]{crop} /Rotate {self.rotate} "
                f"{resources} /Contents {6 + 2 * i} 0 R >>".encode(),
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
