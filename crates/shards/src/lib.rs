//! What every durable engine here shares, whatever it is an engine of.
//!
//! An engine keeps what it knows in the rows of a store, spread over shards. Each shard has one owner: a
//! thread ([`Lanes`]) that takes messages one at a time, decides on what is in memory ([`Slots`]), hands
//! rows over ([`Ledger`]) and continues. What follows from a commit ([`Effect`]) leaves when it is durable. If
//! one fails, everything is given up ([`Failure`]). What must be done later is a timer ([`Timers`]): a row,
//! read into memory when it comes near. What must be delivered is a row too, until its receipt is durable
//! ([`Outbox`]). What has ended the engine again and again is left alone ([`Quarantine`], [`InFlight`]).
//!
//! What shards do is not known here, nor what rows mean.

mod clock;
mod damage;
mod effect;
mod error;
mod failure;
mod in_flight;
pub mod keys;
mod lanes;
mod ledger;
mod mailbox;
mod outbox;
mod quarantine;
mod retention;
pub mod row;
mod settings;
mod slots;
mod timers;
mod worker;

pub use clock::{Clock, SystemClock};
pub use damage::{Damage, Damaged, visit_rows};
pub use effect::Effect;
#[doc(hidden)]
pub use everstep_store::Error as StoreError;

pub use error::{Error, Refused, Result, panic_text};
pub use failure::{Failure, Outside};
pub use in_flight::{InFlight, InFlightFile, NoNotes, Subject};
pub use keys::Id;
pub use lanes::{Lanes, Message, Shard};
pub use ledger::Ledger;
pub use mailbox::Mailbox;
pub use outbox::{Cursor, DEPTH_MAX, Outbox};
pub use quarantine::{FAILURES_MAX, Quarantine, Quarantined, Register, deaths, record_deaths};
pub use retention::RetentionLimit;
pub use settings::Settings;
pub use slots::{Slot, Slots};
pub use timers::Timers;

#[cfg(test)]
mod tests;
