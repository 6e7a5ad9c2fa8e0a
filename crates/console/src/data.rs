//! JSON as a page shows it: indented, and only so much of it.

use maud::{Markup, html};
use serde_json::Value;

/// Of one value; the rest can be downloaded.
const SHOWN_BYTES_MAX: usize = 64 * 1024;
/// Names are marked up in values up to this size: each is a node of the page.
const MARKED_BYTES_MAX: usize = 8 * 1024;

/// A value, as text, and where all of it can be downloaded from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Data {
    pub text: String,
    pub href: Option<String>,
}

impl Data {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), href: None }
    }

    #[must_use]
    pub fn at(self, href: String) -> Self {
        Self { href: Some(href), ..self }
    }
}

pub(crate) fn block(data: &Data) -> Markup {
    let bytes = data.text.len();
    let text = match serde_json::from_str::<Value>(&data.text) {
        Ok(value) if bytes <= SHOWN_BYTES_MAX => format!("{value:#}"),
        _ => data.text.clone(),
    };
    let shown = cut(&text, SHOWN_BYTES_MAX);
    html! {
        div.data {
            pre tabindex="0" {
                @if shown.len() <= MARKED_BYTES_MAX { (marked(shown)) } @else { (shown) }
            }
            @if shown.len() < text.len() {
                p.note { "the first 64 KiB of " (size(bytes)) }
            }
            @if let Some(href) = data.href.as_ref().filter(|_| bytes > 2048) {
                a.download href=(href) download="" { "Download " (size(bytes)) }
            }
        }
    }
}

/// At most so many bytes, and whole characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// `1.5 KiB`
pub(crate) fn size(bytes: usize) -> String {
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{}.{} KiB", bytes / 1024, bytes % 1024 * 10 / 1024),
        _ => format!("{}.{} MiB", bytes / 1_048_576, bytes % 1_048_576 * 10 / 1_048_576),
    }
}

/// With the names of members marked up: in indented JSON they begin a line and end with a colon.
fn marked(text: &str) -> Markup {
    html! {
        @for line in text.split_inclusive('\n') {
            @match name_end(line) {
                Some(end) => { b { (&line[..end]) } (&line[end..]) }
                None => { (line) }
            }
        }
    }
}

fn name_end(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start_matches(' ').len();
    let rest = line.get(start..)?.strip_prefix('"')?;
    let mut escaped = false;
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return rest[at + 1..].starts_with(':').then_some(start + at + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(marked(text).into_string(), expected);
    }

    #[test]
    fn names_are_marked_and_everything_is_escaped() {
        check("{\n  \"a\": \"b\"\n}", "{\n<b>  &quot;a&quot;</b>: &quot;b&quot;\n}");
        check("\"<b>\": 1", "<b>&quot;&lt;b&gt;&quot;</b>: 1");
        check(r#""a\": 1"#, r"&quot;a\&quot;: 1");
        check("not JSON <script>", "not JSON &lt;script&gt;");
    }

    #[test]
    fn large_values_are_cut_and_can_be_downloaded() {
        let data = Data::new("é".repeat(SHOWN_BYTES_MAX)).at("/all".to_owned());
        let shown = block(&data).into_string();
        assert!(shown.len() < SHOWN_BYTES_MAX + 500);
        assert!(shown.contains("Download 128.0 KiB"), "{}", &shown[shown.len() - 300..]);
    }

    #[test]
    fn sizes() {
        let check = |bytes, expected: &str| assert_eq!(size(bytes), expected);
        check(0, "0 bytes");
        check(1536, "1.5 KiB");
        check(3 * 1_048_576 / 2, "1.5 MiB");
    }
}
