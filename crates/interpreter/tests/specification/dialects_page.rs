//! The page of the dialects shows the table in code, which has a row for each method.

use std::fmt::Write as _;

use everstep_asl::{DIFFERENCES, Difference};

const TABLE: &str = include_str!("../../../asl/src/dialect.rs");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dialects.md");

/// The methods that are differences, in the order of the code.
fn rows_in_code() -> Vec<&'static str> {
    let (_, rest) = TABLE.split_once("/// Every method is a difference.").expect("the table");
    let (table, _) = rest.split_once("\n}\n").expect("its end");
    let methods = table.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
    methods.filter_map(|line| line.split('(').next()).collect()
}

#[test]
fn every_difference_is_a_row_in_the_order_of_the_code() {
    let rows: Vec<&str> = DIFFERENCES.iter().map(|row| row.method).collect();
    assert_eq!(rows, rows_in_code());
}

/// The table as the page has it, between its two marks.
fn table() -> String {
    let mut text = "\n\n| in code | what | `spec` | `aws` |\n|---|---|---|---|\n".to_owned();
    for Difference { method, what, spec, aws } in DIFFERENCES {
        let _ = writeln!(text, "| `{method}` | {what} | {spec} | {aws} |");
    }
    text + "\n"
}

#[test]
fn the_page_shows_the_table_of_the_code() {
    let page = std::fs::read_to_string(PAGE).expect("the page");
    let (before, rest) = page.split_once("<!-- differences").expect("the first mark");
    let (mark, rest) = rest.split_once("-->").expect("its end");
    let (shown, after) = rest.split_once("<!-- /differences -->").expect("the second mark");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let table = table();
        let page = format!("{before}<!-- differences{mark}-->{table}<!-- /differences -->{after}");
        return std::fs::write(PAGE, page).expect("the page is written");
    }
    assert_eq!(shown, table(), "UPDATE_EXPECT=1 writes it");
}

/// Nothing outside the table asks which dialect it is.
#[test]
fn no_other_file_tells_the_dialects_apart() {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut folders = vec![std::path::PathBuf::from(sources)];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // Tests choose a dialect; that is not asking for it.
            if path.ends_with("tests.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            files += 1;
            let asks = ["== Dialect::", "Dialect::Spec =>", "Dialect::Aws =>", "match dialect"]
                .iter()
                .any(|question| text.contains(question));
            assert!(!asks, "{} tells the dialects apart", path.display());
        }
    }
    assert!(files > 15);
}
