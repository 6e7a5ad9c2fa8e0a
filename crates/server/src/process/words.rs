//! Numbers and durations in lines for people.

/// `1 error`, `2 errors`.
pub(super) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `120 ms`, `59.9 s`, `2 min 5 s`, `3 h 2 min`, `2 d 4 h`
pub(super) fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = (ms + 500) / 1000;
    match seconds {
        _ if ms < 1000 => format!("{ms} ms"),
        _ if ms < 59_950 => format!("{}.{} s", (ms + 50) / 1000, (ms + 50) % 1000 / 100),
        ..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}
