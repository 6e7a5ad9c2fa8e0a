//! Ends one execution of a store that no engine runs on. Nothing else of the store is touched or continued.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use everstep_history::Failure;
use everstep_shards::Mailbox;
use everstep_store::Store;

use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::message::Message;
use crate::observer::Silent;
use crate::settings::Settings;
use crate::shard::Shard;
use crate::shared::{Parts, Shared};
use crate::task::{Cancelled, Task, TaskRunner};

/// Stops an execution; when it ended. What follows from its end (cancelled tasks, a notification) is stored with it, and
/// done by the next engine. Waits until it is durable.
pub fn stop(store: Arc<dyn Store>, id: ExecutionId, failure: Failure, now_ms: i64) -> Result<i64> {
    let (number, settings) = (id.shard(store.shards()), Settings::default());
    let seed = settings.shards.seed();
    let (runner, observer) = (Arc::new(Nobody), Arc::new(Silent));
    let post = Arc::new(Post::default());
    let shared = Shared::new(Parts { store, runner, observer, settings }, post.clone());
    let mut shard = Shard::open(number, Arc::new(shared), seed, now_ms)?;
    let (sender, receiver) = mpsc::sync_channel(1);
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    shard.handle(Message::Stop { id, failure, reply }, now_ms);
    while let Some(message) = post.take() {
        // It was read elsewhere. All others concern those that the next engine looks after.
        if matches!(message, Message::Loaded(_)) {
            shard.handle(message, now_ms);
        }
    }
    receiver.recv().unwrap_or(Err(Error::Stopped))
}

/// Runs nothing: whoever runs the store next is asked again.
struct Nobody;

impl TaskRunner for Nobody {
    fn dispatch(&self, _task: Task) {}

    fn cancel(&self, _cancelled: Cancelled) {}
}

#[derive(Default)]
struct Post(Mutex<Vec<Message>>);

impl Post {
    fn take(&self) -> Option<Message> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }
}

impl Mailbox<Message> for Post {
    fn post(&self, message: Message) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}
