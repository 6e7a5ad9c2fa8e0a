//! Whatever the text of an `everstep.yaml`, and of every file that it names: a configuration or diagnostics with
//! good places, and never a panic.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Every file is the same: what includes anything includes itself.
    let mut load = |_: &Path| Ok(text.to_owned());
    let env = |name: &str| (name.len() % 2 == 0).then(|| name.to_owned());
    let parsed = everstep_config::read(Path::new("everstep.yaml"), &mut load, &env, &Default::default());
    assert!(parsed.config().is_some() || !parsed.diagnostics.is_empty());
    for diagnostic in &parsed.diagnostics {
        let text = parsed.sources[diagnostic.file].text();
        let span = diagnostic.span;
        assert!(span.start <= span.end && span.end <= text.len(), "{diagnostic:?}");
        assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
        assert!(!diagnostic.message.is_empty());
    }
});
