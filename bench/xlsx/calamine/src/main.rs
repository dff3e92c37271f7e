// calamine-bench FILE stream|range: cell by cell, or the whole sheet as a range, which is calamine's usual interface.

use calamine::{open_workbook, DataRef, Reader, Xlsx};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut workbook: Xlsx<_> = open_workbook(&arguments[1]).unwrap();
    let name = workbook.sheet_names()[0].clone();
    let mut cells = 0;
    if arguments[2] == "range" {
        cells = workbook.worksheet_range(&name).unwrap().used_cells().count();
    } else {
        let mut reader = workbook.worksheet_cells_reader(&name).unwrap();
        while let Some(cell) = reader.next_cell().unwrap() {
            cells += usize::from(!matches!(cell.get_value(), DataRef::Empty));
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    println!("{{\"cells\":{cells},\"peak_kib\":{}}}", peak.split_whitespace().nth(1).unwrap());
}
