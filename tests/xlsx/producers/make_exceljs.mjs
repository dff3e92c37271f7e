// exceljs.xlsx: the streaming writer with shared strings and styles.
import ExcelJS from "exceljs";

const book = new ExcelJS.stream.xlsx.WorkbookWriter({ filename: process.argv[2], useStyles: true, useSharedStrings: true });
const meta = book.addWorksheet("Meta", { state: "veryHidden" });
meta.addRow(["not this one"]).commit();
meta.commit();
const sheet = book.addWorksheet("Data");
sheet.addRow(["text", "number", "flag", "day", "moment", "formula", "rich", "error"]).commit();
const two = sheet.addRow(["大家好 <&> 😀", 1234.5, true, new Date("2024-01-19T00:00:00Z"), new Date("2024-01-19T13:14:15Z"),
  { formula: "B2*2", result: 2469 }, { richText: [{ font: { bold: true }, text: "bold" }, { text: " and plain" }] },
  { error: "#N/A" }]);
two.getCell(4).numFmt = "yyyy-mm-dd";
two.getCell(5).numFmt = "yyyy-mm-dd hh:mm:ss";
two.commit();
const three = sheet.addRow([" spaced ", 9007199254740991, false, new Date("1900-03-01T00:00:00Z"),
  new Date("1999-12-31T23:59:59Z"), "a\nb"]);
three.getCell(4).numFmt = "yyyy-mm-dd";
three.getCell(5).numFmt = "yyyy-mm-dd hh:mm:ss";
three.commit();
sheet.mergeCells("A4:B4");
sheet.getCell("A4").value = "merged";
sheet.getRow(4).commit();
const six = sheet.getRow(6);
six.values = ["00123", 0.68, 1.5208333333333333, 0.75];
six.getCell(2).numFmt = "0%";
six.getCell(3).numFmt = "[h]:mm";
six.getCell(4).numFmt = "hh:mm";
six.commit();
sheet.getRow(7).values = ["_x000D_"];
sheet.getRow(7).commit();
sheet.commit();
await book.commit();
