//! Which ticks of a timer are due: what was missed, what overlaps.

use minicbor::{Decode, Encode};

use crate::plan::{Missed, Overlap, Timer};
use crate::record::Counters;

/// How far a timer has come.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub(crate) struct Clockwork {
    /// The schedule and its zone: another one begins anew.
    #[n(0)]
    schedule: String,
    /// The next tick that has not been looked at; none while the trigger is stopped, or if there is none.
    #[n(1)]
    pub(crate) next_ms: Option<i64>,
    /// Ticks that are to run, and have not been accepted.
    #[n(2)]
    pub(crate) due: Vec<Tick>,
    /// The last tick that was accepted, and when that was.
    #[n(3)]
    pub(crate) last: Option<(i64, i64)>,
}

/// A moment of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Tick {
    #[n(0)]
    pub at_ms: i64,
    /// It was missed while nobody was there.
    #[n(1)]
    pub is_past_due: bool,
}

/// Ticks that wait at most: a run that never ends, or an engine that accepts nothing, must not cost memory.
const DUE_MAX: usize = 1000;
/// Missed ticks that are looked at: those of a month of seconds would take long.
const COUNTED_MAX: usize = 1000;

impl Clockwork {
    /// Takes a timer up: a new one, one that has another schedule, or one that was there before. What it has missed
    /// meanwhile is due now, as far as it wants that.
    pub(crate) fn take_up(
        known: Option<Self>,
        timer: &Timer,
        counters: &mut Counters,
        now_ms: i64,
    ) -> Self {
        let schedule = key(timer);
        let mut clockwork = match known {
            Some(known) if known.schedule == schedule && known.next_ms.is_some() => known,
            Some(known) if known.schedule == schedule => Self { due: Vec::new(), ..known },
            // The first tick is noted at first sight, so that it cannot be missed.
            _ => Self { schedule, next_ms: None, due: Vec::new(), last: None },
        };
        match clockwork.next_ms {
            Some(_) => clockwork.catch_up(timer, counters, now_ms),
            None => clockwork.next_ms = timer.schedule.next_after(now_ms),
        }
        clockwork
    }

    /// Nothing is due until it is taken up again, and what comes meanwhile is not missed.
    pub(crate) fn stop(&mut self) {
        (self.next_ms, self.due) = (None, Vec::new());
    }

    /// Every tick that is due has been missed.
    fn catch_up(&mut self, timer: &Timer, counters: &mut Counters, now_ms: i64) {
        let Some(first_ms) = self.next_ms.filter(|next_ms| *next_ms <= now_ms) else { return };
        self.next_ms = timer.schedule.next_after(now_ms);
        let next = |at_ms: &i64| timer.schedule.next_after(*at_ms);
        let missed = std::iter::successors(Some(first_ms), next);
        let missed: Vec<i64> =
            missed.take_while(|at_ms| *at_ms <= now_ms).take(COUNTED_MAX).collect();
        let room = DUE_MAX.saturating_sub(self.due.len());
        let run = match timer.missed {
            Missed::One => 1.min(room),
            Missed::Skip => 0,
            Missed::All { limit } => missed.len().min(limit as usize).min(room),
        };
        let rest = (missed.len() - run) as u64;
        match timer.missed {
            Missed::One => counters.coalesced += rest,
            Missed::Skip | Missed::All { .. } => counters.skipped += rest,
        }
        let tick = |at_ms: &i64| Tick { at_ms: *at_ms, is_past_due: true };
        self.due.extend(missed[..run].iter().map(tick));
    }

    /// Looks at what has come; whether anything has. `is_busy`: the run before is not over.
    pub(crate) fn advance(
        &mut self,
        timer: &Timer,
        is_busy: bool,
        counters: &mut Counters,
        now_ms: i64,
    ) -> bool {
        let Some(at_ms) = self.next_ms.filter(|next_ms| *next_ms <= now_ms) else { return false };
        if timer.schedule.next_after(at_ms).is_some_and(|later_ms| later_ms <= now_ms) {
            // More than one: the machine has slept.
            self.catch_up(timer, counters, now_ms);
            return true;
        }
        self.next_ms = timer.schedule.next_after(now_ms);
        let waits = is_busy || !self.due.is_empty();
        match timer.overlap {
            Overlap::Skip if waits => counters.skipped += 1,
            Overlap::Coalesce if !self.due.is_empty() => counters.coalesced += 1,
            Overlap::Allow if self.due.len() >= DUE_MAX => counters.skipped += 1,
            _ => self.due.push(Tick { at_ms, is_past_due: false }),
        }
        true
    }
}

fn key(timer: &Timer) -> String {
    let zone = timer.schedule.zone().map_or("", |zone| zone.name());
    format!("{} {zone}", timer.schedule)
}
