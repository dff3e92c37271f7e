"""openpyxl.xlsx: shared strings, rich text as inline runs, formulas without cached values."""

import datetime
import sys

import openpyxl
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

book = openpyxl.Workbook()
meta = book.active
meta.title = "Meta"
meta.sheet_state = "veryHidden"
meta["A1"] = "not this one"
sheet = book.create_sheet("Data")
sheet.append(["text", "number", "flag", "day", "moment", "formula", "rich", "error"])
for cell in sheet[1]:
    cell.font = Font(bold=True)
sheet.append(["大家好 <&> 😀", 1234.5, True, datetime.date(2024, 1, 19), datetime.datetime(2024, 1, 19, 13, 14, 15), "=B2*2",
              CellRichText(TextBlock(InlineFont(b=True), "bold"), " and plain"), "#N/A"])
sheet.append([" spaced ", 9007199254740991, False, datetime.date(1900, 3, 1), datetime.datetime(1999, 12, 31, 23, 59, 59), "a\nb"])
sheet["A4"] = "merged"
sheet.merge_cells("A4:B4")
sheet["A6"] = "00123"
sheet["B6"] = 0.68
sheet["B6"].number_format = "0%"
sheet["C6"] = datetime.timedelta(hours=36, minutes=30)
sheet["D6"] = datetime.time(18, 0)
for row in range(7, 20):
    sheet.cell(row, 1).font = Font(bold=True)
book.save(sys.argv[1])
