//! Words that messages share: counts and lists of names.

pub use crate::duration::{brief as span, measured, rounded as duration};

/// `1 error`, `2 errors`.
#[must_use]
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `` `A` ``, `` `A` and `B` ``, `` `A`, `B` and `C` ``; the first dozen.
pub fn choices<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const SHOWN: usize = 12;
    let mut words: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if words.len() > SHOWN + 1 {
        let more = words.len() - SHOWN;
        words.truncate(SHOWN);
        words.push(format!("{more} more"));
    }
    match words.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// `once`, `twice`, `3 times`
#[must_use]
pub fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        more => format!("{more} times"),
    }
}
