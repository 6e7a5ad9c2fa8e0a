//! Whatever the text: a model or diagnostics with good places, and never a panic.

#![no_main]

use everstep_asl::{Options, Source, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for name in ["definition.json", "definition.yaml"] {
        let source = Source::new(name, text);
        let parsed = parse(&source, &Options::default());
        assert!(parsed.machine().is_some() || parsed.has_errors());
        for diagnostic in &parsed.diagnostics {
            let span = diagnostic.span;
            assert!(span.start <= span.end && span.end <= text.len(), "{diagnostic:?}");
            assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
            assert!(!diagnostic.message.is_empty());
        }
    }
});
