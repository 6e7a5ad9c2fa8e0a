//! Durations as AWS, Azure and people write them, in milliseconds.

/// What to write instead of a text that is not a duration.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid {
    pub hint: String,
}

const FORMS: &str = "write it as 10s, 15m, 1h30m, PT10S or 00:00:10";
const DAY_MS: u64 = 86_400_000;
/// A century: what is longer is a mistake, and sums of what is shorter do not overflow.
const MS_MAX: u64 = 36_525 * DAY_MS;

/// `00:00:10`, `1.00:00:00`, `PT10S`, `1h30m`, `500ms`, `10`.
pub fn parse(text: &str) -> Result<u64, Invalid> {
    let found = if text.contains(':') {
        clock(text)?
    } else if let Some(rest) = text.strip_prefix('P') {
        iso(rest).ok_or_else(|| invalid(FORMS))?
    } else if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        scaled(text, 1000).ok_or_else(|| invalid(FORMS))?
    } else if text.starts_with('-') {
        return Err(invalid("a duration cannot be negative"));
    } else {
        units(text).ok_or_else(|| invalid(FORMS))?
    };
    bounded(found)
}

/// A number of seconds.
pub fn from_seconds(seconds: f64) -> Result<u64, Invalid> {
    if seconds < 0.0 {
        return Err(invalid("a duration cannot be negative"));
    }
    // Saturates.
    bounded((seconds * 1000.0).round() as u64)
}

fn invalid(hint: &str) -> Invalid {
    Invalid { hint: hint.to_owned() }
}

fn bounded(ms: u64) -> Result<u64, Invalid> {
    if ms > MS_MAX { Err(invalid("a duration is at most a century")) } else { Ok(ms) }
}

/// .NET's TimeSpan: `[d.]HH:mm:ss[.fff]`.
fn clock(text: &str) -> Result<u64, Invalid> {
    let parts: Vec<&str> = text.split(':').collect();
    let [first, minutes, seconds] = *parts else {
        return Err(invalid(
            "a time has three parts, HH:mm:ss: write ten minutes as 00:10:00 or 10m",
        ));
    };
    let (days, hours) = first.split_once('.').unwrap_or(("0", first));
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let (Some(days), Some(hours), Some(minutes), Some(whole)) =
        (digits(days), digits(hours), digits(minutes), digits(whole))
    else {
        return Err(invalid(if text.contains('-') {
            "a duration cannot be negative"
        } else {
            FORMS
        }));
    };
    if hours > 23 {
        return Err(invalid(&format!(
            "hours go up to 23 (.NET reads {hours}:00:00 as {hours} days): write one day as 1.00:00:00 or 1d"
        )));
    }
    if minutes > 59 || whole > 59 {
        return Err(invalid(
            "minutes and seconds go up to 59: write ninety seconds as 00:01:30 or 90s",
        ));
    }
    let fraction = scaled(&format!("0.{fraction}"), 1000).ok_or_else(|| invalid(FORMS))?;
    Ok(days.saturating_mul(DAY_MS) + hours * 3_600_000 + minutes * 60_000 + whole * 1000 + fraction)
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().unwrap_or(u64::MAX))
}

/// ISO 8601, less what has no fixed length: years and months.
fn iso(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (text, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let date = sum(date, &[("W", 7 * DAY_MS), ("D", DAY_MS)])?;
    let time = sum(time, &[("H", 3_600_000), ("M", 60_000), ("S", 1000)])?;
    Some(date.saturating_add(time))
}

fn units(text: &str) -> Option<u64> {
    // The longer name first: `ms` is not minutes.
    let units = [("d", DAY_MS), ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1000)];
    sum(text, &units)
}

/// Numbers, each with its unit, no unit twice.
fn sum(mut text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (mut total, mut seen) = (0u64, Vec::new());
    while !text.is_empty() {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, rest) = text.split_at(end);
        let (unit, factor) = units.iter().find(|(unit, _)| rest.starts_with(unit))?;
        if seen.contains(unit) {
            return None;
        }
        seen.push(unit);
        total = total.saturating_add(scaled(number, *factor)?);
        text = &rest[unit.len()..];
    }
    Some(total)
}

/// `1.5` times a thousand.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = digits(whole)?.saturating_mul(factor);
    digits(fraction)?;
    let part: f64 = format!("0.{fraction}").parse().ok()?;
    // Less than a week.
    let part = (part * factor as f64).round() as u64;
    Some(whole.saturating_add(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: u64) {
        assert_eq!(parse(text), Ok(expected), "{text}");
    }

    fn check_refused(text: &str, hint: &str) {
        let refused = parse(text).expect_err(text);
        assert!(refused.hint.contains(hint), "{text}: {refused:?}");
    }

    #[test]
    fn all_forms_are_read() {
        check("00:00:10", 10_000);
        check("00:15:00", 900_000);
        check("00:00:00", 0);
        check("23:59:59", 86_399_000);
        check("00:00:00.250", 250);
        check("1.00:00:00", DAY_MS);
        check("14.06:30:00.5", 14 * DAY_MS + 23_400_500);
        check("PT10S", 10_000);
        check("PT1H30M", 5_400_000);
        check("P1DT0.5S", DAY_MS + 500);
        check("P2W", 14 * DAY_MS);
        check("10s", 10_000);
        check("15m", 900_000);
        check("1h30m", 5_400_000);
        check("500ms", 500);
        check("1d", DAY_MS);
        check("1.5h", 5_400_000);
        check("10", 10_000);
        check("0.25", 250);
        assert_eq!(from_seconds(2.5), Ok(2500));
    }

    #[test]
    fn what_is_not_a_duration_is_explained() {
        check_refused("24:00:00", "1.00:00:00 or 1d");
        check_refused("99:00:00", "hours go up to 23");
        check_refused("00:90:00", "go up to 59");
        check_refused("00:00:60", "go up to 59");
        check_refused("10:00", "three parts");
        check_refused("-00:00:10", "negative");
        check_refused("-5s", "negative");
        for text in [
            "",
            "soon",
            "10 s",
            "s",
            "1h1h",
            "P",
            "PT",
            "P1M",
            "P1Y",
            "1..5s",
            ".",
            "1.s",
            "::",
            "a:b:c",
            "1.2.3:0:0",
            "ü",
        ] {
            check_refused(text, "");
        }
        check_refused("99999999999999999999d", "century");
        check_refused("99999999999999999999.00:00:00", "century");
        check_refused("1e9", "write it as");
        assert!(from_seconds(-1.0).is_err() && from_seconds(f64::INFINITY).is_err());
    }
}
