//! The page of the dialects and the table in code say the same.

const TABLE: &str = include_str!("../../../asl/src/dialect.rs");
const PAGE: &str = include_str!("../../../../docs/dialects.md");

/// The methods that are differences, in the order of the code.
fn rows_in_code() -> Vec<&'static str> {
    let (_, rest) = TABLE.split_once("/// Every method is a difference.").expect("the table");
    let (table, _) = rest.split_once("\n}\n").expect("its end");
    let methods = table.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
    methods.filter_map(|line| line.split('(').next()).collect()
}

fn rows_on_page() -> Vec<&'static str> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|line| line.split('`').next()).collect()
}

#[test]
fn every_difference_is_on_the_page_in_the_order_of_the_code() {
    assert!(rows_in_code().len() >= 8);
    assert_eq!(rows_on_page(), rows_in_code());
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
