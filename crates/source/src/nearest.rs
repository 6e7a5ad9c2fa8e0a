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
