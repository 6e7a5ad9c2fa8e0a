//! What must be agreed before a process may see the event of a call.

use tokio::sync::oneshot;

/// Asked for when a process is ready to take the event, and not before: whoever calls may want to write that down.
#[derive(Default)]
pub struct Claim(State);

#[derive(Default)]
enum State {
    /// There is nothing to ask for.
    #[default]
    Granted,
    Open(Box<dyn FnOnce(Grant) + Send>),
    Asked(oneshot::Receiver<()>),
}

/// The answer to a claim. Dropped, it refuses: the event is not wanted any more.
pub struct Grant(oneshot::Sender<()>);

impl Grant {
    pub fn allow(self) {
        // The process may be gone; another one will find that it is allowed.
        let _ = self.0.send(());
    }
}

impl Claim {
    #[must_use]
    pub fn new(ask: impl FnOnce(Grant) + Send + 'static) -> Self {
        Self(State::Open(Box::new(ask)))
    }

    pub(crate) fn is_granted(&self) -> bool {
        matches!(self.0, State::Granted)
    }

    /// Asks, unless that has been done.
    fn ask(&mut self) {
        match std::mem::take(&mut self.0) {
            State::Open(ask) => {
                let (grant, granted) = oneshot::channel();
                self.0 = State::Asked(granted);
                ask(Grant(grant));
            }
            asked => self.0 = asked,
        }
    }

    /// Asks, and waits for the answer. May be dropped, and called again.
    pub(crate) async fn granted(&mut self) -> bool {
        self.ask();
        let State::Asked(granted) = &mut self.0 else { return true };
        let granted = granted.await.is_ok();
        self.0 = State::Granted;
        granted
    }
}
