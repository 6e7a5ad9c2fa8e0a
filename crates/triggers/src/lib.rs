//! Triggers: what starts work, as machines without I/O.
//!
//! A trigger (or one partition of a stream) is a [`Driver`]: it takes an input and the time and returns requests. It reads no
//! clock, waits for nothing and knows no store. Whoever runs it, the server or the simulation, performs its requests and
//! feeds it the answers. What it knows beyond that is rows, in the shard that has the invocations it starts: so what it
//! accepts and how far it has come are one commit. After a crash, a new driver is built from the rows.
//!
//! `docs/design/triggers.md` describes inputs, requests, rows and invariants.

mod driver;
mod event;
mod item;
mod plan;
mod record;
mod standing;
mod timer;

pub use driver::{Busy, Driver, Input, Refusal, Request, WRITE_BYTES_MAX, Write};
pub use event::iso;
pub use item::{Item, Outcome, Refused, Settled};
pub use plan::{Ack, Missed, OnExhausted, Origin, Overlap, Place, Plan, Timer};
pub use record::{Counters, Flight, Last, Record, Stored};
pub use standing::{Standing, State};
pub use timer::Tick;

#[cfg(test)]
mod tests;
