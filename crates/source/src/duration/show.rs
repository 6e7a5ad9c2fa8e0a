//! Words for durations. The unit follows the number after a space: `1 h 30 min`.

const YEAR_MS: u64 = 31_557_600_000;
/// Shorter ones are given in seconds.
const MINUTES_FROM_MS: u64 = 120_000;

/// A length that was set, exact to a second and below two minutes to a millisecond: `4.5 s`, `90 s`, `5 min`,
/// `1 h 30 min`. From a year on nobody counts: `about 3.2 years`.
#[must_use]
pub fn exact(ms: u64) -> String {
    match ms {
        60_000 => "1 min".to_owned(),
        ..MINUTES_FROM_MS => format!("{} s", seconds(ms)),
        MINUTES_FROM_MS..YEAR_MS => units(ms),
        _ if ms / YEAR_MS >= 1000 => "thousands of years".to_owned(),
        _ => {
            let tenths = (ms + YEAR_MS / 20) / (YEAR_MS / 10);
            format!("about {}.{} years", tenths / 10, tenths % 10)
        }
    }
}

fn units(ms: u64) -> String {
    let seconds = (ms + 500) / 1000;
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let words = parts.iter().filter(|(number, _)| *number > 0);
    words.map(|(number, unit)| format!("{number} {unit}")).collect::<Vec<_>>().join(" ")
}

/// `4`, `4.5`, `4.125`
fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1000, ms % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A length that was measured, to a tenth of a second or to the two largest units: `0.2 s`, `2 min 5 s`, `3 h 2 min`,
/// `2 d 4 h`. A clock that was set back gives `0.0 s`.
#[must_use]
pub fn rounded(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = (ms + 500) / 1000;
    match seconds {
        _ if ms < 59_950 => format!("{}.{} s", (ms + 50) / 1000, (ms + 50) % 1000 / 100),
        ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// As [`rounded`], without what is zero: `3 s` and not `3.0 s`, `2 min` and not `2 min 0 s`.
#[must_use]
pub fn brief(ms: i64) -> String {
    if ms < 59_950 && ms % 1000 == 0 {
        return format!("{} s", ms.max(0) / 1000);
    }
    let text = rounded(ms);
    let zero = [" 0 s", " 0 min", " 0 h"].iter().find_map(|zero| text.strip_suffix(zero));
    zero.map(str::to_owned).unwrap_or(text)
}

/// From the shortest to the longest, both exact: `4 s`, `7.2–8.8 s`, `119 s – 2 min`.
#[must_use]
pub fn range(least_ms: u64, most_ms: u64) -> String {
    let (least, most) = (exact(least_ms), exact(most_ms));
    match (least.strip_suffix(" s"), most.strip_suffix(" s")) {
        _ if least == most => least,
        (Some(low), Some(high)) if !low.contains(' ') && !high.contains(' ') => {
            format!("{low}–{high} s")
        }
        _ => format!("{least} – {most}"),
    }
}

/// As [`rounded`], but to a millisecond if it is shorter than a second.
#[must_use]
pub fn measured(ms: i64) -> String {
    if ms < 1000 { format!("{} ms", ms.max(0)) } else { rounded(ms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_exact() {
        for (ms, expected) in [
            (0, "0 s"),
            (4500, "4.5 s"),
            (20_000, "20 s"),
            (60_000, "1 min"),
            (119_000, "119 s"),
            (120_000, "2 min"),
            (310_250, "5 min 10 s"),
            (3_661_000, "1 h 1 min 1 s"),
            (86_400_000, "1 d"),
            (99_999_999_000, "about 3.2 years"),
            (u64::MAX, "thousands of years"),
        ] {
            assert_eq!(exact(ms), expected, "{ms}");
        }
    }

    #[test]
    fn what_was_measured_is_rounded() {
        for (ms, expected) in [
            (-1, "0.0 s"),
            (49, "0.0 s"),
            (50, "0.1 s"),
            (4_500, "4.5 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 0 s"),
            (125_000, "2 min 5 s"),
            (3_599_600, "1 h 0 min"),
            (187_200_000, "2 d 4 h"),
        ] {
            assert_eq!(rounded(ms), expected, "{ms}");
        }
        for (ms, expected) in [
            (-1000, "0 s"),
            (0, "0 s"),
            (1_500, "1.5 s"),
            (20_000, "20 s"),
            (60_000, "1 min"),
            (610_000, "10 min 10 s"),
            (3_600_000, "1 h"),
            (86_400_000, "1 d"),
        ] {
            assert_eq!(brief(ms), expected, "{ms}");
        }
        assert_eq!((measured(-1), measured(999)), ("0 ms".to_owned(), "999 ms".to_owned()));
        assert_eq!(measured(1000), "1.0 s");
    }

    #[test]
    fn ranges_share_their_unit() {
        assert_eq!(range(4000, 4000), "4 s");
        assert_eq!(range(7200, 8800), "7.2–8.8 s");
        assert_eq!(range(119_000, 120_000), "119 s – 2 min");
    }
}
