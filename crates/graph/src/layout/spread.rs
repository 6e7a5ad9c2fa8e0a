//! Places on a line, each as near to its wish as its neighbours allow.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish {
    pub(crate) place: f64,
    /// Greater than zero.
    pub(crate) weight: f64,
}

/// A run of places that touch and move as one.
struct Run {
    first: usize,
    weight: f64,
    /// Sum of the weighted wishes for the place of the run's zero.
    wish: f64,
}

/// Keeps the order of the wishes and at least `gap(i)` between places `i` and `i + 1`, and makes
/// the weighted sum of squared distances from the wishes least (isotonic regression by pooling).
pub(crate) fn spread(wishes: &[Wish], gap: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(wishes.len());
    let mut runs: Vec<Run> = Vec::new();
    let mut offset = 0.0;
    for (index, wish) in wishes.iter().enumerate() {
        if index > 0 {
            offset += gap(index - 1);
        }
        offsets.push(offset);
        let weighted = wish.weight * (wish.place - offset);
        runs.push(Run { first: index, weight: wish.weight, wish: weighted });
        while let [.., left, right] = &mut runs[..]
            && left.wish / left.weight > right.wish / right.weight
        {
            left.weight += right.weight;
            left.wish += right.wish;
            runs.pop();
        }
    }
    let mut places = offsets;
    let mut end = wishes.len();
    for run in runs.iter().rev() {
        for place in &mut places[run.first..end] {
            *place += run.wish / run.weight;
        }
        end = run.first;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wishes: &[f64], expected: &[f64]) {
        let wishes: Vec<Wish> = wishes.iter().map(|&place| Wish { place, weight: 1.0 }).collect();
        assert_eq!(spread(&wishes, |_| 10.0), expected);
    }

    #[test]
    fn wishes_come_true_where_they_can() {
        check(&[], &[]);
        check(&[0.0, 50.0], &[0.0, 50.0]);
        check(&[20.0, 20.0], &[15.0, 25.0]);
        check(
            &[0.0, 100.0, 100.0, 90.0],
            &[0.0, 86.666_666_666_666_67, 96.666_666_666_666_67, 106.666_666_666_666_67],
        );
    }
}
