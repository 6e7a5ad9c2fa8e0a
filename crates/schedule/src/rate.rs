//! Intervals: AWS's `rate(5 minutes)`, and how intervals are shown.

use crate::Invalid;

const UNITS: [(&str, i64); 3] = [("minute", 60_000), ("hour", 3_600_000), ("day", 86_400_000)];

/// What is between the parentheses: `5 minutes`. In milliseconds.
pub(crate) fn parse(rate: &str) -> Result<i64, Invalid> {
    let invalid = || {
        Invalid::new(format!("invalid rate `{}`", rate.trim()))
            .hint("write rate(5 minutes), rate(1 hour) or rate(7 days)")
    };
    let (number, unit) = rate.trim().split_once(' ').ok_or_else(invalid)?;
    let unit = unit.trim();
    let number: i64 = number.parse().ok().filter(|number| *number > 0).ok_or_else(invalid)?;
    let known = |(name, _): &&(&str, i64)| unit.strip_suffix('s').unwrap_or(unit) == *name;
    let (name, ms) = UNITS.iter().find(known).ok_or_else(invalid)?;
    let right = if number == 1 { (*name).to_owned() } else { format!("{name}s") };
    if unit != right {
        return Err(invalid().hint(format!("write rate({number} {right})")));
    }
    number.checked_mul(*ms).filter(|ms| *ms < i64::MAX / 4).ok_or_else(invalid)
}

/// `90 s`, `5 min`: the largest unit that needs no fraction.
pub(crate) fn words(ms: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)];
    let whole = units.into_iter().find(|(_, unit)| ms.is_multiple_of(*unit));
    let (name, unit) = whole.unwrap_or(("ms", 1));
    format!("{} {name}", ms / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_aws_writes_them() {
        let check = |rate: &str, expected: Result<i64, &str>| {
            let found = parse(rate).map_err(|invalid| invalid.hint.unwrap_or_default());
            assert_eq!(found, expected.map_err(str::to_owned), "{rate}");
        };
        check("1 minute", Ok(60_000));
        check("5 minutes", Ok(300_000));
        check("1 hour", Ok(3_600_000));
        check("7 days", Ok(604_800_000));
        check("5 minute", Err("write rate(5 minutes)"));
        check("1 minutes", Err("write rate(1 minute)"));
        let forms = "write rate(5 minutes), rate(1 hour) or rate(7 days)";
        for rate in ["", "5", "0 minutes", "-1 minutes", "5 seconds", "x hours", "9e9 days"] {
            check(rate, Err(forms));
        }
        check("9223372036854775807 days", Err(forms));
    }

    #[test]
    fn intervals_are_shown() {
        let check = |ms, expected: &str| assert_eq!(words(ms), expected);
        check(1500, "1500 ms");
        check(90_000, "90 s");
        check(300_000, "5 min");
        check(7_200_000, "2 h");
        check(86_400_000, "1 d");
    }
}
