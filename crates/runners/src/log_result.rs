//! The end of a function's log, as Lambda shows it to a caller who asks for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// As much of a log as Lambda shows.
const BYTES_MAX: usize = 4096;

/// The last four kilobytes of what the code wrote for a call, between the lines that Lambda puts around it, in Base64.
#[must_use]
pub fn log_result(request_id: &str, version: &str, lines: &[String]) -> String {
    let mut text = format!("START RequestId: {request_id} Version: {version}\n");
    lines.iter().for_each(|line| text.extend([line.as_str(), "\n"]));
    text.push_str(&format!("END RequestId: {request_id}\n"));
    let from = text.ceil_char_boundary(text.len().saturating_sub(BYTES_MAX));
    STANDARD.encode(&text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &str) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let text = STANDARD.decode(log_result("r-1", "$LATEST", &lines)).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn logs_are_shown_from_their_end() {
        check(
            &["one", "two"],
            "START RequestId: r-1 Version: $LATEST\none\ntwo\nEND RequestId: r-1\n",
        );
        // A character that the limit falls into is left out.
        let end = "a\nEND RequestId: r-1\n";
        let kept = "ä".repeat((BYTES_MAX - end.len()) / 2);
        check(&[&format!("{}a", "ä".repeat(BYTES_MAX))], &format!("{kept}{end}"));
    }
}
