//! `url` of a function, and URLs as targets.

use everstep_target::check_url;

use crate::reader::Field;
use crate::rule::Rule;
use crate::text::Text;

/// The text, if it is a URL that can be called. Values of variables are not shown.
pub(crate) fn checked(field: &Field<'_>, text: Text) -> Option<Text> {
    match check_url(&text) {
        Ok(()) => Some(text),
        Err(hint) => {
            report(field, &text, hint);
            None
        }
    }
}

pub(crate) fn report(field: &Field<'_>, text: &Text, hint: &str) {
    let found = field.report(Rule::UnknownValue, format!("invalid URL `{}`", text.written()));
    field.cx.report(found.hint(hint));
}
