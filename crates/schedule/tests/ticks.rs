//! Schedules against moments that were found in another way (`tools/ticks.py`), and what is refused.

use std::path::Path;

use everstep_schedule::{Schedule, Zone};
use jiff::Timestamp;

fn schedule(text: &str, zone: &str) -> Schedule {
    let zone = Zone::named(zone).expect("a zone");
    Schedule::parse(text, zone).unwrap_or_else(|invalid| panic!("{text}: {invalid}"))
}

fn ms(text: &str) -> i64 {
    text.parse::<Timestamp>().expect("a timestamp").as_millisecond()
}

fn shown(at_ms: i64) -> String {
    Timestamp::from_millisecond(at_ms).expect("a moment").to_string()
}

fn ticks(schedule: &Schedule, start_ms: i64, count: usize) -> Vec<String> {
    let next = |at_ms: &i64| schedule.next_after(*at_ms);
    std::iter::successors(schedule.next_after(start_ms), next).take(count).map(shown).collect()
}

#[test]
fn schedules_are_due_when_others_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/schedules/ticks.txt");
    let text = std::fs::read_to_string(file).expect("it is there");
    let mut checked = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [written, zone, start, expected] = parts[..] else { panic!("{line}") };
        let expected: Vec<&str> = expected.split(' ').collect();
        let schedule = schedule(written, zone);
        assert_eq!(ticks(&schedule, ms(start), expected.len()), expected, "{written} in {zone}");
        checked += 1;
    }
    assert!(checked >= 25, "{checked}");
}

#[test]
fn what_is_due_between_two_seconds_is_due_at_the_next() {
    let check = |at_ms, expected| {
        assert_eq!(schedule("* * * * * *", "UTC").next_after(at_ms), Some(expected));
    };
    check(0, 1000);
    check(999, 1000);
    check(1000, 2000);
    check(-1, 0);
}

#[test]
fn intervals_count_from_1970() {
    let every = Schedule::every(90_000).expect("an interval");
    assert_eq!(every.to_string(), "every 90 s");
    assert_eq!(ticks(&every, 0, 2), ["1970-01-01T00:01:30Z", "1970-01-01T00:03:00Z"]);
    assert_eq!(every.next_after(-1), Some(0));
    assert_eq!(every.next_after(89_999), Some(90_000));
}

#[test]
fn a_schedule_may_be_over() {
    let schedule = schedule("cron(0 0 1 1 ? 2027)", "UTC");
    assert_eq!(ticks(&schedule, ms("2026-01-01T00:00:00Z"), 3), ["2027-01-01T00:00:00Z"]);
    assert_eq!(schedule.next_after(ms("2027-01-01T00:00:00Z")), None);
}

#[test]
fn moments_beyond_all_calendars_are_never_due() {
    for schedule in [schedule("* * * * * *", "Europe/Berlin"), Schedule::every(1000).unwrap()] {
        for at_ms in [i64::MAX, i64::MAX - 1] {
            assert_eq!(schedule.next_after(at_ms), None);
        }
        let _ = schedule.next_after(i64::MIN);
    }
}

#[test]
fn both_days_must_match() {
    let both = schedule("0 0 0 13 * FRI", "UTC");
    assert!(both.names_both_days());
    assert!(!schedule("0 0 0 13 * *", "UTC").names_both_days());
    assert!(!schedule("cron(0 0 13 * ? *)", "UTC").names_both_days());
}

fn refused(text: &str, message: &str, hint: &str) {
    let invalid = Schedule::parse(text, Zone::utc()).expect_err(text);
    assert_eq!(invalid.message, message, "{text}");
    let found = invalid.hint.unwrap_or_default();
    assert!(found.contains(hint), "{text}: {found}");
}

#[test]
fn what_is_not_a_schedule_is_refused_by_the_name_of_its_field() {
    refused("0 61 * * * *", "invalid minute `61`", "0 to 59");
    refused("60 * * * * *", "invalid second `60`", "0 to 59");
    refused("0 0 24 * * *", "invalid hour `24`", "0 to 23");
    refused("0 0 0 32 * *", "invalid day of the month `32`", "1 to 31");
    refused("0 0 0 0 * *", "invalid day of the month `0`", "1 to 31");
    refused("0 0 0 * 13 *", "invalid month `13`", "1 to 12");
    refused("0 0 0 * MON *", "invalid month `MON`", "JAN to DEC");
    refused("0 0 0 * * 8", "invalid day of the week `8`", "0 (Sunday) to 6");
    refused("0 0 0 * * +MON", "invalid day of the week `+MON`", "SUN to SAT");
    refused("0 0 0 * * 5#6", "invalid day of the week `5#6`", "5#3");
    refused("0 */0 * * * *", "invalid minute `*/0`", "0 to 59");
    refused("0 5,,6 * * * *", "invalid minute `5,,6`", "0 to 59");
    refused("0 /5 * * * *", "invalid minute `/5`", "0 to 59");
    refused("0 9-5 * * * *", "invalid minute `9-5`", "0 to 59");
    refused("0 0 0 30 2 *", "the schedule `0 0 0 30 2 *` is never due", "no day");
    refused("* * *", "invalid schedule `* * *`: it has 3 fields", "{second} {minute}");
    refused("@daily", "invalid schedule `@daily`: it has 1 field", "{second} {minute}");
    refused("", "invalid schedule ``: it has 0 fields", "0 30 2 * * *");
    refused("0 0 0 * * * *", "invalid schedule `0 0 0 * * * *`: it has 7 fields", "rate(…)");
    let either = "one of day of the month and day of the week must be `?`, and the other not";
    refused("cron(0 10 * * * *)", either, "cron(30 2 * * ? *)");
    refused("cron(0 10 ? * ? *)", either, "cron(30 2 ? * MON *)");
    refused("cron(0 10 * * ? 1969)", "invalid year `1969`", "1970 to 2199");
    refused("cron(0 10 * * ? 2026-2200)", "invalid year `2026-2200`", "1970 to 2199");
    refused("cron(0 10 ? * 0 *)", "invalid day of the week `0`", "1 (Sunday) to 7");
    refused("cron(0 10 * *)", "invalid schedule `0 10 * *`: it has 4 fields", "cron({minute}");
    refused("rate(5 minute)", "invalid rate `5 minute`", "rate(5 minutes)");
}

#[test]
fn zones_have_names() {
    let invalid = Zone::named("Europe/Berlni").expect_err("no such zone");
    assert_eq!(invalid.message, "unknown time zone `Europe/Berlni`");
    assert_eq!(Zone::named("europe/berlin").expect("whatever its case").name(), "Europe/Berlin");
    assert!(Zone::names().iter().any(|name| name == "Europe/Berlin"));
    assert!(Schedule::every(999).is_err());
    assert!(Schedule::every(u64::MAX).is_err());
}

proptest::proptest! {
    /// Nothing is due between a moment and the next one, whatever the clock does there.
    #[test]
    fn the_next_moment_is_the_next_from_everywhere_before(
        (which, zone) in (0..6usize, 0..4usize),
        // The changes of the clock in 2026, with some days around them.
        (change, offset_ms) in (0..4usize, -200_000_000i64..200_000_000),
        part in 0.0..1.0f64,
    ) {
        let written = ["0 30 2 * * *", "0 */7 * * * *", "0 */20 1-3 * * *", "0 0 * * * *", "17 5 0 * * SUN", "30 2 * * *"];
        let zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"];
        let changes = ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-11-01T06:00:00Z", "2026-10-03T15:30:00Z"];
        let schedule = schedule(written[which], zones[zone]);
        let start_ms = ms(changes[change]) + offset_ms;
        let next_ms = schedule.next_after(start_ms).expect("there is one");
        proptest::prop_assert!(next_ms > start_ms);
        let between_ms = start_ms + ((next_ms - 1 - start_ms) as f64 * part) as i64;
        proptest::prop_assert_eq!(schedule.next_after(between_ms), Some(next_ms));
    }
}
