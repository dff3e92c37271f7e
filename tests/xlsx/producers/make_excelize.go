// excelize.xlsx: shared strings, formulas with a value that the caller sets.
package main

import (
	"os"
	"time"

	"github.com/xuri/excelize/v2"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	f := excelize.NewFile()
	must(f.SetSheetName("Sheet1", "Meta"))
	must(f.SetCellValue("Meta", "A1", "not this one"))
	_, err := f.NewSheet("Data")
	must(err)
	f.SetActiveSheet(1)
	must(f.SetSheetVisible("Meta", false, true))
	style := func(format string) int {
		id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
		must(err)
		return id
	}
	put := func(cell string, value any, format string) {
		must(f.SetCellValue("Data", cell, value))
		if format != "" {
			must(f.SetCellStyle("Data", cell, cell, style(format)))
		}
	}
	must(f.SetSheetRow("Data", "A1", &[]any{"text", "number", "flag", "day", "moment", "formula", "rich", "error"}))
	put("A2", "大家好 <&> 😀", "")
	put("B2", 1234.5, "")
	put("C2", true, "")
	put("D2", time.Date(2024, 1, 19, 0, 0, 0, 0, time.UTC), "yyyy-mm-dd")
	put("E2", time.Date(2024, 1, 19, 13, 14, 15, 0, time.UTC), "yyyy-mm-dd hh:mm:ss")
	put("F2", 2469, "")
	must(f.SetCellFormula("Data", "F2", "B2*2"))
	must(f.SetCellRichText("Data", "G2", []excelize.RichTextRun{
		{Text: "bold", Font: &excelize.Font{Bold: true}}, {Text: " and plain"}}))
	put("A3", " spaced ", "")
	put("B3", 9007199254740991, "")
	put("C3", false, "")
	put("D3", time.Date(1900, 3, 1, 0, 0, 0, 0, time.UTC), "yyyy-mm-dd")
	put("E3", time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC), "yyyy-mm-dd hh:mm:ss")
	put("F3", "a\nb", "")
	put("A4", "merged", "")
	must(f.MergeCell("Data", "A4", "B4"))
	put("A6", "00123", "")
	put("B6", 0.68, "0%")
	put("C6", 1.5208333333333333, "[h]:mm")
	put("D6", 0.75, "hh:mm")
	put("A7", "_x000D_", "")
	must(f.SetCellStyle("Data", "A8", "A20", style("0.00")))
	must(f.SaveAs(os.Args[1]))
}
