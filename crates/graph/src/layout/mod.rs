//! Where boxes and lines go, for one scope at a time.
//!
//! Knows sizes and links, not what they stand for. Two steps: [`layered`] puts boxes into ranks
//! and gives everything its place along the rank; [`route`] stacks the ranks and draws the lines
//! through the gaps that this leaves, so that no line meets a box.
//!
//! The layout is our own because a general one routes each line alone: here lines to one state
//! run together, labels stand next to the state they speak of, and the cost is bounded.

mod bands;
pub(crate) mod geometry;
pub(crate) mod layered;
mod order;
mod ports;
mod rank;
pub(crate) mod route;
mod spread;
mod straighten;

use geometry::{Path, Rect, Size};

/// Least distance between two boxes of a rank.
pub(crate) const NODE_GAP: f64 = 44.0;
/// Least distance between two lines that pass a rank.
pub(crate) const LINE_GAP: f64 = 18.0;

#[derive(Debug, Clone, Default)]
pub(crate) struct Problem {
    pub(crate) nodes: Vec<Bulk>,
    pub(crate) links: Vec<Link>,
}

/// A box to place, with room to keep free beside it: the right side is used, the left side
/// keeps the box in the middle of its lines.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Bulk {
    pub(crate) size: Size,
    pub(crate) margin: f64,
}

/// A line to draw between two different nodes of [`Problem::nodes`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: Option<Size>,
    /// How much a straight and short line matters.
    pub(crate) weight: u32,
    /// Lines to one node that share a bundle may run together.
    pub(crate) bundle: u32,
    /// The line ends at its label, which says where it leads.
    pub(crate) jumps: bool,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Placement {
    pub(crate) size: Size,
    pub(crate) nodes: Vec<Rect>,
    pub(crate) routes: Vec<Route>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Route {
    /// Pieces of the line; it is interrupted where its label stands.
    pub(crate) paths: Vec<Path>,
    pub(crate) label: Option<Rect>,
    /// The head of the arrow, absent where the line ends in another line.
    pub(crate) head: Option<Path>,
}

/// Ranks and places along them, before anything has a height.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layers {
    pub(crate) nodes: Vec<Spot>,
    pub(crate) chains: Vec<Chain>,
}

/// The way of a link between its ends, in its own direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    pub(crate) spots: Vec<Spot>,
    /// Whether the link reaches its end itself. Otherwise it ends at its last spot, because
    /// another link continues from there or because it jumps.
    pub(crate) arrives: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Spot {
    pub(crate) rank: usize,
    pub(crate) x: f64,
    /// Equal for spots that several links share.
    pub(crate) vertex: usize,
    pub(crate) holds_label: bool,
}

/// For each link, whether it is so long that drawing it costs more than it tells.
pub(crate) fn too_long(problem: &Problem) -> Vec<bool> {
    layered::too_long(problem)
}

pub(crate) fn place(problem: &Problem) -> Placement {
    route::route(problem, &layered::layers(problem))
}
