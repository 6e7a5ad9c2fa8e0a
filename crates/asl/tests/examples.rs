//! Definitions in files: the examples of the documents that everstep follows, which must be
//! accepted, and wrong ones, each beside what is said about it.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use everstep_asl::{Options, Source, parse};

/// The definitions below `testdata/asl/<folder>`, by name.
fn definitions(folder: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/asl").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json" || e == "yaml"))
        .collect();
    paths.sort();
    paths
}

fn diagnostics(path: &PathBuf) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name");
    let source = Source::new(name, fs::read_to_string(path).expect("a readable file"));
    let mut text = String::new();
    for found in parse(&source, &Options::default()).diagnostics {
        let spanned = source.text().get(found.span.range());
        assert!(spanned.is_some(), "{name}: {found:?} cuts a character");
        let at = source.position(found.span.start);
        let _ = writeln!(
            text,
            "{}:{} {}[{}] {}: {}",
            at.line,
            at.column,
            found.severity.name(),
            found.code,
            found.place,
            found.message
        );
        if let Some(hint) = found.hint {
            let _ = writeln!(text, "    hint: {hint}");
        }
    }
    text
}

#[test]
fn examples_of_the_documents_are_accepted() {
    let paths = definitions("valid");
    assert!(paths.len() >= 40, "{} examples", paths.len());
    for path in paths {
        let found = diagnostics(&path);
        assert!(!found.contains(" error["), "{}:\n{found}", path.display());
    }
}

#[test]
fn wrong_definitions_are_explained() {
    let paths = definitions("invalid");
    assert!(paths.len() >= 25, "{} wrong definitions", paths.len());
    for path in paths {
        let found = diagnostics(&path);
        assert!(found.contains(" error["), "{} is accepted:\n{found}", path.display());
        let expected = path.with_extension("diagnostics");
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&expected, found).unwrap();
            continue;
        }
        let said = fs::read_to_string(&expected).unwrap_or_default();
        assert!(said == found, "{} says now:\n{found}", path.display());
    }
}
