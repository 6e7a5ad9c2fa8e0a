//! What was acknowledged is there again, and nothing is there by halves.

use super::{Load, Subject, check_load};

pub fn acknowledged_batches_survive(subject: &mut impl Subject) {
    if !subject.lasts() {
        return;
    }
    let mut count = 0;
    for turn in 0..6 {
        let store = subject.open();
        count = check_load(&*store, count);
        let mut load = Load::new(&*store, count, 1 + turn * 20, 200);
        let mut acknowledged = count;
        while acknowledged < count + 300 {
            acknowledged = load.step().expect("a batch failed");
        }
        // Those that are still on their way are awaited: a crash with work in flight needs a
        // process of its own.
        let handed_over = load.finish().expect("a batch failed");
        assert_eq!(check_load(&*store, handed_over), handed_over, "more than was handed over");
        count = handed_over;
        if turn % 2 == 0 { drop(store) } else { subject.crash(store) }
    }
    assert_eq!(check_load(&*subject.open(), count), count);
}
