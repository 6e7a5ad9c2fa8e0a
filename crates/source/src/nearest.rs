//! "Did you mean": the known word that a mistyped one was probably meant to be.

/// The candidate most like `word`, if one is like it at all.
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let lower = word.to_lowercase();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let length = candidate.chars().count();
            let limit = (length / 3).max(1);
            // Distances cost far more than lengths, and are never smaller than their difference.
            let close = length.abs_diff(lower.chars().count()) <= limit;
            let distance =
                close.then(|| strsim::osa_distance(&lower, &candidate.to_lowercase()))?;
            (distance <= limit).then_some((distance, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Names this short are often alike and mean different things.
const NEAR_CHARS_MIN: usize = 8;

/// The candidate that differs from `word` only by case or by a slip of the keyboard. Stricter than [`nearest`]: for
/// names that were never meant to be the same, nothing is found.
pub fn near_miss<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    candidates.into_iter().find(|candidate| {
        let (chars, others) = (word.chars().count(), candidate.chars().count());
        let is_slip = || {
            chars.min(others) >= NEAR_CHARS_MIN
                && chars.abs_diff(others) <= 1
                && strsim::osa_distance(word, candidate) == 1
        };
        word != *candidate && (word.eq_ignore_ascii_case(candidate) || is_slip())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses() {
        let check = |word: &str, candidate: &str, is_near: bool| {
            assert_eq!(near_miss(word, [candidate]).is_some(), is_near, "{word} {candidate}");
        };
        check("Ecs.ClusterNotFound", "ECS.ClusterNotFound", true);
        check("RateLimitError", "RateLimitErorr", true);
        check("RateLimitError", "RateLimitErrors", true);
        check("RateLimitError", "RateLimitError", false);
        check("PaymentError", "ParentError", false);
        check("Error1", "Error2", false);
        check("Timeout", "timeout", true);
    }
}
