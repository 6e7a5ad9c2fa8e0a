//! The patterns of the model. There are three, and each is simpler read by hand than by an engine:
//! one looks ahead, which engines without backtracking do not.

/// Whether the whole text is as the pattern says. A pattern that is not known here holds for nothing,
/// so that a new one shows at once.
pub(super) fn holds(pattern: &str, text: &str) -> bool {
    match pattern {
        r"^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$" => {
            let letter = |byte: u8| byte.is_ascii_alphabetic() || b"_-.".contains(&byte);
            text.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
                && text.bytes().any(letter)
        }
        "[!-~]+" => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()),
        r"\p{ASCII}*" => text.is_ascii(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Kind, Operation, Shape};

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        for text in yes {
            assert!(holds(pattern, text), "{pattern} holds for {text:?}");
        }
        for text in no {
            assert!(!holds(pattern, text), "{pattern} does not hold for {text:?}");
        }
    }

    #[test]
    fn each_pattern() {
        let name = r"^(?=.*[a-zA-Z_\-\.])[a-zA-Z0-9_\-\.]+$";
        check(name, &["a", "PROD", "1.0", "1_", "-", "0a9"], &["", "1", "2024", "a b", "ä", "a\n"]);
        check("[!-~]+", &["!", "~", "a/b"], &["", " ", "a b", "\u{7f}", "é"]);
        check(r"\p{ASCII}*", &["", "\0\u{7f}", "Root=1;x"], &["é", "a\u{80}"]);
    }

    #[test]
    fn no_pattern_of_the_model_is_unknown() {
        fn walk(shape: &'static Shape, found: &mut Vec<&'static str>) {
            match &shape.kind {
                Kind::Structure(members) => {
                    members.iter().for_each(|member| walk(member.shape, found));
                }
                Kind::List { element, .. } => walk(element, found),
                Kind::Text { pattern, .. } => found.extend(*pattern),
                _ => {}
            }
        }
        let mut found = Vec::new();
        Operation::ALL.iter().for_each(|operation| walk(operation.input(), &mut found));
        assert_eq!(found.len(), 4);
        // "-" stands for something that each of them allows.
        assert!(found.iter().all(|pattern| holds(pattern, "-")));
    }
}
