"""Sheets of Excel and OpenDocument: values as they are displayed, merged heads, and what is hidden."""

from datetime import date
from io import BytesIO

import openpyxl
import pytest

from advchunk import RecursiveChunker, read_file
from advchunk.readers.office.files import read
from advchunk.readers.office.number_formats import format_number
from one_text import ODF, zipped


def saved(book):
    file = BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (0.19, "0%", "19%"), (1234567.891, "#,##0.00", "1,234,567.89"), (-5, "0;(0)", "(5)"), (0, '0;-0;"none"', "none"),
        (1500000, '0.0,,"m"', "1.5m"), (2.5, "[$€-407] 0.00", "€ 2.50"), (7, "000", "007"), (2.5, "0.##", "2.5"), (3, "0.##", "3"),
        (0.1 + 0.2, "", "0.3"), (1e20, "General", "1e+20"), (0.5, "# ?/?", "0.5"), (2.005, "0.00", "2.01"),
        (46082.75, "d.m.yyyy h:mm", "2026-03-01 18:00"), (0.75, "h:mm:ss AM/PM", "18:00:00"), (46082, "mmm-yy", "2026-03"),
        (1, "yyyy-mm-dd", "1900-01-01"), (1e12, "yyyy", "1000000000000"), (44620, '"KW" 0', "KW 44620"),
        (4915112345, "(00) 000-00000", "(49) 151-12345"), (123456789, "000-00-0000", "123-45-6789"), (0, '_-* "-"?? €_-', "- €"),
        (5551234, "[<=9999999]###-####;(###) ###-####", "555-1234"), (2125551234, "[<=9999999]###-####;(###) ###-####", "(212) 555-1234"),
        (-3, '[<0]"low";[>=10]"high";0', "low"), (12, '[<0]"low";[>=10]"high";0', "high"), (0.5, "#.00", ".50"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_they_are_displayed(number, code, text):
    assert format_number(number, code) == text


def test_formulas_percentages_dates_and_truths():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Item", "Tax", "Gross", "Since", "Sold"])
    sheet.append(["Pump", 0.19, "=B2*(1+C2)", date(2026, 3, 1), True])
    sheet["B2"].number_format = "0%"
    document = read(saved(book))
    assert "| Pump | 19% | =B2*(1+C2) | 2026-03-01 | TRUE |" in document.text
    assert document.metadata["left_out"] == "values of formulas: 1"


def test_merged_heads_name_each_column_and_later_pieces_have_them(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["Sales of tea"],
        ["Region", "Sales", None, "Growth"],
        [None, "Jan", "Feb"],
        *([f"R{i}", i, 2 * i, 3] for i in range(30)),
    ):
        sheet.append(row)
    for merged in "A1:D1", "B2:C2", "A2:A3", "D2:D3":
        sheet.merge_cells(merged)
    path = tmp_path / "tea.xlsm"
    path.write_bytes(saved(book))
    document = read_file(path)
    head = "| Region | Sales | Sales | Growth |\n| Region | Jan | Feb | Growth |\n| --- | --- | --- | --- |"
    assert f"Sheet\n\nSales of tea\n\n{head}\n| R0 | 0 | 0 | 3 |" in document.text
    assert "| Region | Jan | Feb | Growth |" in RecursiveChunker(max_tokens=90).chunk(document)[2].embed_text


def hidden_book():
    book = openpyxl.Workbook()
    sheet = book.active
    for i in range(4):
        sheet.append([f"a{i}", f"b{i}", f"c{i}"])
    sheet.row_dimensions[2].hidden = sheet.column_dimensions["B"].hidden = True
    sheet["A1"].comment = openpyxl.comments.Comment("remark", "Ann")
    book.create_sheet("Secret").append(["x"])
    book["Secret"].sheet_state = "hidden"
    return saved(book)


def test_hidden_sheets_rows_and_columns_are_counted_or_read():
    document = read(hidden_book())
    assert document.text == "Sheet\n\n| a0 | c0 |\n| --- | --- |\n| a2 | c2 |\n| a3 | c3 |"
    assert document.metadata["left_out"] == "comments: 1; hidden columns: 1; hidden rows: 1; hidden sheets: 1"
    assert read(hidden_book(), hidden=True).text.endswith("| a3 | b3 | c3 |\n\nSecret\n\nx")


def test_sheets_of_open_document():
    def cell(text, more=""):
        return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"

    wide, hidden = 'table:number-columns-spanned="2"', 'table:visibility="collapse"'
    rows = (
        cell("Tea") + cell("Sales", wide) + "<table:covered-table-cell/>",
        "<table:table-cell/>" + cell("19%") + '<table:table-cell table:formula="of:=SUM([.B2:.B3])"/>',
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    body += f"<table:table-row {hidden}>{cell('secret')}</table:table-row>"
    body += '<table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
    style = (
        '<style:style style:name="Gone" style:family="table"><style:table-properties '
        'table:display="false"/></style:style>'
    )
    sheets = (
        f'<table:table table:name="Tea">{body}</table:table><table:table table:name="X" '
        f'table:style-name="Gone">{body}</table:table>'
    )
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{style}</office:automatic-styles><office:body>"
        f"<office:spreadsheet>{sheets}</office:spreadsheet></office:body></office:document-content>"
    )
    document = read(zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": content}))
    assert document.text == "Tea\n\n| Tea | Sales | Sales |\n| --- | --- | --- |\n|  | 19% | =SUM(B2:B3) |"
    assert document.metadata["left_out"] == "hidden rows: 1; hidden sheets: 1; values of formulas: 1"
    assert {block.metadata["sheet"] for block in document.blocks} == {"Tea"}
