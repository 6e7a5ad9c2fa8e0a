//! The beat: tells others that this node is alive, and this node that the database is.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use everstep_store::Error;
use everstep_store::group::Queue;
use tokio::time::{sleep, timeout};

use crate::claim;
use crate::connect::{Backoff, Connections, Purpose};
use crate::failure;
use crate::health::Health;
use crate::session::Session;

const EVERY: Duration = Duration::from_secs(1);
const LIMIT: Duration = Duration::from_secs(3);

pub(crate) struct Beat {
    pub(crate) connections: Arc<Connections>,
    pub(crate) health: Arc<Health>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) session: Option<Session>,
    /// The last beat that is known to have happened.
    pub(crate) last: i64,
}

impl Beat {
    /// Beats until the store is closed or the node is lost.
    pub(crate) async fn keep(mut self) {
        let mut backoff = Backoff::default();
        loop {
            match self.beat().await {
                Ok(Some(beat)) if beat > self.last => {
                    self.last = beat;
                    self.health.beaten();
                    backoff = Backoff::default();
                    sleep(EVERY).await;
                }
                Ok(Some(_)) => return self.fail(failure::behind(&self.connections.address)),
                Ok(None) => return self.fail(failure::removed(&self.connections.address)),
                Err(why) => {
                    self.session = None;
                    self.health.missed(why);
                    sleep(backoff.next()).await;
                }
            }
        }
    }

    async fn beat(&mut self) -> Result<Option<i64>, String> {
        let session = match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => session,
            None => {
                let connected = self.connections.connect(Purpose::Beat).await;
                connected.map_err(|error| error.to_string())?
            }
        };
        let session = self.session.insert(session);
        match timeout(LIMIT, claim::beat(session, self.connections.node)).await {
            Ok(beaten) => beaten.map_err(|fault| fault.to_string()),
            Err(_) => Err(format!("no answer within {} s", LIMIT.as_secs())),
        }
    }

    /// On a thread of its own: what waits for commits must not hold up this one.
    fn fail(&self, error: Error) {
        let queue = self.queue.clone();
        thread::spawn(move || queue.fail(error));
    }
}
