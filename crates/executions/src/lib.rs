//! The runtime: what executions decide is made durable, and what they ask for is done.
//!
//! Executions are spread over shards, each with one owner ([`Shard`]); many steps share one commit; what a
//! step asks for leaves when the step is durable, and once more after a crash. [`Engine`] puts shards on
//! threads; [`Reader`] reads what is stored beside them. What a state does is the interpreter's, how rows
//! are kept the store's, how tasks are run the [`TaskRunner`]'s.

mod after_commit;
mod engine;
mod error;
mod id;
mod layout;
mod message;
mod notification;
mod observer;
pub mod offline;
mod pace;
mod pool;
mod reader;
mod revision;
mod settings;
mod shard;
mod shared;
mod summary;
mod task;
mod verify;
mod visibility;
mod work;

pub use engine::Engine;
pub use error::{Error, Result};
pub use everstep_shards::{Clock, DEPTH_MAX, Mailbox, SystemClock};
pub use id::{ExecutionId, ListId};
pub use message::{Ended, Message, Note, Reply, Start, Started};
pub use notification::{Ending, Notification, NotificationId};
pub use observer::{Observer, Silent, Step};
pub use reader::Reader;
pub use revision::{Level, Logging, Prepared, Revision, RevisionId};
pub use settings::Settings;
pub use shard::Shard;
pub use shared::{Parts, Shared};
pub use summary::{Standing, Summary};
pub use task::{Cancelled, Job, Report, Task, TaskRunner, request_id};
pub use verify::{Verified, verify};
pub use visibility::{Bookmark, Page};
pub use work::{Pool, Work};
