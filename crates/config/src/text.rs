//! Text that may hold what must not be shown: values from the environment.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;

/// A text of the configuration, its variables filled in. Shown as it was written.
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    value: String,
    /// As written, if a variable stood in it.
    written: Option<String>,
}

impl Text {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.value
    }

    /// What may be shown: the variables by their names.
    #[must_use]
    pub fn written(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.value)
    }

    /// Whether a part of it comes from the environment.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.written.is_some()
    }

    /// Puts something visible in front.
    pub(crate) fn after(self, prefix: &str) -> Self {
        let written = self.written.map(|written| format!("{prefix}{written}"));
        Self { value: format!("{prefix}{}", self.value), written }
    }

    pub(crate) fn strip_prefix(&self, prefix: &str) -> Option<Self> {
        let value = self.value.strip_prefix(prefix)?.to_owned();
        let written = self.written.as_ref();
        let written = written.map(|text| text.strip_prefix(prefix).unwrap_or(text).to_owned());
        Some(Self { value, written })
    }
}

impl From<&str> for Text {
    fn from(value: &str) -> Self {
        Self { value: value.to_owned(), written: None }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.written(), f)
    }
}

/// As written, like everything that is shown.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.value
    }
}

impl AsRef<OsStr> for Text {
    fn as_ref(&self) -> &OsStr {
        self.value.as_ref()
    }
}

/// Why variables cannot be filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    Missing(String),
    /// `${env:` without its end, or without a name.
    Malformed,
    /// `${NAME}`: other tools' way of saying it.
    OtherForm(String),
}

const START: &str = "${env:";

/// Fills in `${env:NAME}`, and a text that is `%NAME%` as a whole; `$$` before a brace is one `$`.
pub(crate) fn fill(written: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Text, Trouble> {
    let find = |name: &str| env(name).ok_or_else(|| Trouble::Missing(name.to_owned()));
    let secret = |value| Text { value, written: Some(written.to_owned()) };
    if let Some(name) = azure(written) {
        return Ok(secret(find(name)?));
    }
    let mut value = String::new();
    let (mut rest, mut filled) = (written, false);
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            value.push_str(&rest[..at - 1]);
            value.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        let (name, after) = variable(&rest[at..])?;
        value.push_str(&rest[..at]);
        value.push_str(&find(name)?);
        (rest, filled) = (after, true);
    }
    value.push_str(rest);
    Ok(if filled { secret(value) } else { Text { value, written: None } })
}

fn variable(text: &str) -> Result<(&str, &str), Trouble> {
    let (inside, after) = text.split_once('}').ok_or(Trouble::Malformed)?;
    match inside.strip_prefix(START) {
        Some(name) if is_name(name) => Ok((name, after)),
        Some(_) => Err(Trouble::Malformed),
        None => Err(Trouble::OtherForm(inside["${".len()..].to_owned())),
    }
}

fn azure(text: &str) -> Option<&str> {
    text.strip_prefix('%')?.strip_suffix('%').filter(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// The variable that a text asks for, where none can be.
pub(crate) fn first_variable(text: &str) -> Option<Cow<'_, str>> {
    if azure(text).is_some() {
        return Some(text.into());
    }
    let at = text.find(START)?;
    let end = text[at..].find('}').map_or(text.len(), |end| at + end + 1);
    Some(text[at..end].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &str, expected: Result<&str, Trouble>) {
        let env = |name: &str| (name == "KEY").then(|| "s3cret".to_owned());
        let filled = fill(written, &env);
        let shown = format!("{filled:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(
            filled.as_ref().map(Text::as_str).map_err(|_| ()),
            expected.as_ref().map(|t| *t).map_err(|_| ())
        );
        if let Err(expected) = expected {
            assert_eq!(filled, Err(expected), "{written}");
        }
    }

    #[test]
    fn variables_are_filled_in() {
        check("a ${env:KEY} b ${env:KEY}", Ok("a s3cret b s3cret"));
        check("%KEY%", Ok("s3cret"));
        check("date +%H%M%S", Ok("date +%H%M%S"));
        check("100%", Ok("100%"));
        check("%%", Ok("%%"));
        check("$$ $HOME $${env:KEY}", Ok("$$ $HOME ${env:KEY}"));
        check("", Ok(""));
        check("${env:NO}", Err(Trouble::Missing("NO".to_owned())));
        check("%NO%", Err(Trouble::Missing("NO".to_owned())));
        check("${env:KEY", Err(Trouble::Malformed));
        check("${env:}", Err(Trouble::Malformed));
        check("${KEY}", Err(Trouble::OtherForm("KEY".to_owned())));
    }

    #[test]
    fn what_is_secret_is_shown_as_written() {
        let env = |_: &str| Some("s3cret".to_owned());
        let text = fill("https://${env:KEY}@host", &env).expect("it is there");
        assert_eq!(format!("{text:?}"), r#""https://${env:KEY}@host""#);
        assert_eq!((text.as_str(), text.is_secret()), ("https://s3cret@host", true));
        assert!(!Text::from("plain").is_secret());
    }
}
