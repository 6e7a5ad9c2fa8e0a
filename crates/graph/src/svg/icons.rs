//! Pictograms of the state types, drawn in a square of sixteen by sixteen.

use crate::model::{Kind, Status};

pub(crate) fn path(kind: Kind) -> &'static str {
    match kind {
        // A bolt.
        Kind::Task => "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
        // An arrow.
        Kind::Pass => "M2.5 8h11M9 3.5 13.5 8 9 12.5",
        // A fork of the way.
        Kind::Choice => "M8 14V9.5L3.5 5V2.5M8 9.5 12.5 5V2.5M1.5 4.5l2-2 2 2M10.5 4.5l2-2 2 2",
        // A clock.
        Kind::Wait => "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M8 4.5V8l2.5 1.5",
        // A tick.
        Kind::Succeed => "M2.5 8.5 6.5 12.5 13.5 4",
        // A cross.
        Kind::Fail => "M3.5 3.5l9 9M12.5 3.5l-9 9",
        // Lanes between two bars.
        Kind::Parallel => "M2 2.5h12M2 13.5h12M4.5 2.5v11M8 2.5v11M11.5 2.5v11",
        // A stack of cards.
        Kind::Map => "M2 6.5h8.5v8H2zM5 6.5V4h8.5v8H10.5M8 4V1.5h6.5",
    }
}

/// The shape of a status, around its middle.
pub(super) fn mark(status: Status) -> &'static str {
    match status {
        Status::Running => "M-2 -3.5 3.5 0 -2 3.5z",
        Status::Retrying => "M3 -1.2A3.4 3.4 0 1 0 3.2 1.4M3.4 -4V-1H.4",
        Status::Succeeded => "M-3.4 .2 -1 2.7 3.5 -2.4",
        Status::Failed => "M-2.7 -2.7 2.7 2.7M2.7 -2.7 -2.7 2.7",
        Status::Caught => "M-3 -3V-.5C-3 1.5-1 1.5 2.6 1.5M.6 -.8 3 1.5 .6 3.8",
        Status::Aborted => "M-2.5 -2.5H2.5V2.5H-2.5z",
    }
}
