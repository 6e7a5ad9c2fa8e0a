//! Timestamps: what is accepted has the parts that RFC 3339 asks for.

#![no_main]

use everstep_expr::timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(timestamp) = timestamp::parse(text) {
        assert_eq!(text.as_bytes().get(10), Some(&b'T'));
        assert!(text.ends_with('Z') || text.as_bytes()[text.len() - 6].is_ascii_punctuation());
        let day = 86_400_000;
        assert!(
            (-62_167_219_200_000 - day..253_402_300_800_000 + day).contains(&timestamp.to_millis())
        );
    }
});
