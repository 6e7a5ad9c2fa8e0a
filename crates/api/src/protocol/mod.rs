//! The protocol of the service, AWS JSON 1.0: what each operation accepts, and how an answer and an
//! error are written.
//!
//! A request goes through [`route`], [`read`] and [`check`]; what comes back leaves as an [`Answer`].
//! Names and messages are the service's own as far as they are known; where they are not, a comment says so.
//! What an operation does, and who calls it, is not known here.

mod answer;
mod check;
mod conforms;
mod error;
mod model;
mod name;
mod operation;
mod pattern;
mod request;
mod serialization;
mod shape;
mod violation;

pub use answer::{Answer, timestamp};
pub use check::check;
pub use conforms::conforms;
pub use error::{Common, Error};
pub use model::{Name, Operation};
pub use request::{read, route};
pub use shape::{Bounds, Kind, Member, Shape};
