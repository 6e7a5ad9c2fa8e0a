//! Whether the database answers.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A beat that is older than this means that the database cannot be reached.
const STALE: Duration = Duration::from_secs(3);
/// An interruption that is shorter is not worth a word.
const SHORT: Duration = Duration::from_millis(500);

pub(crate) type Notify = dyn Fn(&str) + Send + Sync;

pub(crate) struct Health {
    state: Mutex<State>,
    notify: Box<Notify>,
}

struct State {
    beaten: Instant,
    /// What the last beat that failed met.
    missed: Option<String>,
    /// Since when no commit is possible, why, and whether that was said.
    outage: Option<(Instant, String, bool)>,
}

impl Health {
    pub(crate) fn new(notify: Box<Notify>) -> Self {
        let state = State { beaten: Instant::now(), missed: None, outage: None };
        Self { state: Mutex::new(state), notify }
    }

    /// Says something to whoever runs the store.
    pub(crate) fn say(&self, line: &str) {
        (self.notify)(line);
    }

    pub(crate) fn beaten(&self) {
        let mut state = self.state();
        (state.beaten, state.missed) = (Instant::now(), None);
    }

    pub(crate) fn missed(&self, why: String) {
        self.state().missed = Some(why);
    }

    /// Commits are not possible.
    pub(crate) fn interrupted(&self, why: &str) {
        let mut state = self.state();
        let (since, reason, is_said) =
            state.outage.get_or_insert_with(|| (Instant::now(), String::new(), false));
        why.clone_into(reason);
        if !*is_said && since.elapsed() > SHORT {
            *is_said = true;
            let line = format!("warning: the database does not accept commits: {why}; retrying");
            drop(state);
            self.say(&line);
        }
    }

    /// Commits are possible again.
    pub(crate) fn restored(&self) {
        let outage = self.state().outage.take();
        if let Some((since, _, true)) = outage {
            let seconds = since.elapsed().as_secs_f64();
            self.say(&format!("the database accepts commits again after {seconds:.1} s"));
        }
    }

    /// Why the database cannot be used now, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        let state = self.state();
        if let Some((since, why, _)) = &state.outage
            && since.elapsed() > SHORT
        {
            return Some(why.clone());
        }
        let late = state.beaten.elapsed();
        (late > STALE).then(|| {
            let why = state.missed.as_deref().unwrap_or("it does not answer");
            format!("no beat for {} s: {why}", late.as_secs())
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_long_interruptions_are_said() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = lines.clone();
        let health = Health::new(Box::new(move |line| {
            heard.lock().expect("no panic").push(line.to_owned());
        }));
        health.interrupted("gone");
        assert_eq!(health.trouble(), None);
        health.restored();
        assert!(lines.lock().expect("no panic").is_empty());
        let past = Instant::now().checked_sub(STALE).expect("the machine runs for longer");
        health.state().outage = Some((past, String::new(), false));
        health.interrupted("gone");
        assert_eq!(health.trouble().as_deref(), Some("gone"));
        health.interrupted("still gone");
        health.restored();
        assert_eq!(health.trouble(), None);
        let lines = lines.lock().expect("no panic");
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[0], "warning: the database does not accept commits: gone; retrying");
    }
}
