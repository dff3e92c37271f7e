// poi.xlsx: Apache POI's XSSF model, formulas evaluated.
import java.io.FileOutputStream;
import java.time.LocalDate;
import java.time.LocalDateTime;
import org.apache.poi.ss.usermodel.*;
import org.apache.poi.ss.util.CellRangeAddress;
import org.apache.poi.xssf.usermodel.*;

public class MakePoi {
  public static void main(String[] arguments) throws Exception {
    try (XSSFWorkbook book = new XSSFWorkbook(); FileOutputStream out = new FileOutputStream(arguments[0])) {
      XSSFSheet meta = book.createSheet("Meta");
      meta.createRow(0).createCell(0).setCellValue("not this one");
      XSSFSheet sheet = book.createSheet("Data");
      book.setActiveSheet(1);
      book.setSheetVisibility(0, SheetVisibility.VERY_HIDDEN);
      String[] titles = {"text", "number", "flag", "day", "moment", "formula", "rich", "error"};
      Row one = sheet.createRow(0);
      for (int i = 0; i < titles.length; i++) one.createCell(i).setCellValue(titles[i]);
      CellStyle day = style(book, "yyyy-mm-dd"), moment = style(book, "yyyy-mm-dd hh:mm:ss");
      Row two = sheet.createRow(1);
      two.createCell(0).setCellValue("大家好 <&> 😀");
      two.createCell(1).setCellValue(1234.5);
      two.createCell(2).setCellValue(true);
      two.createCell(3).setCellValue(LocalDate.of(2024, 1, 19));
      two.getCell(3).setCellStyle(day);
      two.createCell(4).setCellValue(LocalDateTime.of(2024, 1, 19, 13, 14, 15));
      two.getCell(4).setCellStyle(moment);
      two.createCell(5).setCellFormula("B2*2");
      XSSFFont bold = book.createFont();
      bold.setBold(true);
      XSSFRichTextString rich = new XSSFRichTextString("bold and plain");
      rich.applyFont(0, 4, bold);
      two.createCell(6).setCellValue(rich);
      two.createCell(7).setCellErrorValue(FormulaError.NA.getCode());
      Row three = sheet.createRow(2);
      three.createCell(0).setCellValue(" spaced ");
      three.createCell(1).setCellValue(9007199254740991.0);
      three.createCell(2).setCellValue(false);
      three.createCell(3).setCellValue(LocalDate.of(1900, 3, 1));
      three.getCell(3).setCellStyle(day);
      three.createCell(4).setCellValue(LocalDateTime.of(1999, 12, 31, 23, 59, 59));
      three.getCell(4).setCellStyle(moment);
      three.createCell(5).setCellValue("a\nb");
      sheet.createRow(3).createCell(0).setCellValue("merged");
      sheet.addMergedRegion(new CellRangeAddress(3, 3, 0, 1));
      Row six = sheet.createRow(5);
      six.createCell(0).setCellValue("00123");
      six.createCell(1).setCellValue(0.68);
      six.getCell(1).setCellStyle(style(book, "0%"));
      six.createCell(2).setCellValue(1.5208333333333333);
      six.getCell(2).setCellStyle(style(book, "[h]:mm"));
      six.createCell(3).setCellValue(0.75);
      six.getCell(3).setCellStyle(style(book, "hh:mm"));
      for (int i = 7; i < 20; i++) sheet.createRow(i).createCell(0).setCellStyle(day);
      book.getCreationHelper().createFormulaEvaluator().evaluateAll();
      book.write(out);
    }
  }

  static CellStyle style(XSSFWorkbook book, String format) {
    CellStyle style = book.createCellStyle();
    style.setDataFormat(book.createDataFormat().getFormat(format));
    return style;
  }
}
