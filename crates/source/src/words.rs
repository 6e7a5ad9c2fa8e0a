//! Words that messages share: counts, lists of names, durations.

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

/// `0.2 s`, `59.9 s`, `2 min 5 s`, `3 h 2 min`, `2 d 4 h`
#[must_use]
pub fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = (ms + 500) / 1000;
    match seconds {
        _ if ms < 59_950 => format!("{}.{} s", (ms + 50) / 1000, (ms + 50) % 1000 / 100),
        ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A length that was set: `3 s` and not `3.0 s`, `2 min` and not `2 min 0 s`.
#[must_use]
pub fn span(ms: i64) -> String {
    if ms < 60_000 && ms % 1000 == 0 {
        return format!("{} s", ms / 1000);
    }
    let text = duration(ms);
    let even = [" 0 s", " 0 min", " 0 h"].iter().find_map(|nothing| text.strip_suffix(nothing));
    even.map(str::to_owned).unwrap_or(text)
}

/// A length that was measured, however short.
#[must_use]
pub fn measured(ms: i64) -> String {
    if ms < 1000 { format!("{} ms", ms.max(0)) } else { duration(ms) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (ms, expected) in [
            (0, "0.0 s"),
            (49, "0.0 s"),
            (50, "0.1 s"),
            (4_500, "4.5 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 0 s"),
            (125_000, "2 min 5 s"),
            (3_599_600, "1 h 0 min"),
            (187_200_000, "2 d 4 h"),
        ] {
            assert_eq!(duration(ms), expected, "{ms}");
        }
    }

    #[test]
    fn spans() {
        for (ms, expected) in [
            (0, "0 s"),
            (1_500, "1.5 s"),
            (20_000, "20 s"),
            (60_000, "1 min"),
            (610_000, "10 min 10 s"),
            (3_600_000, "1 h"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(span(ms), expected, "{ms}");
        }
    }
}
