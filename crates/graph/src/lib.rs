//! Pictures of state machines: [`svg`], [`mermaid`] and [`dot`].
//!
//! What is drawn is a [`Graph`], a small model of its own; [`definition`] makes one from a state
//! machine, and nothing else here knows how definitions are written. How executions run is not
//! known at all: whoever does sets the states' status. Nothing in a model is trusted:
//! names may hold markup, control characters or kilobytes of text, edges may point nowhere, and
//! the same model always gives the same bytes.

pub mod definition;
mod dot;
mod layout;
mod mermaid;
mod model;
mod outline;
mod picture;
mod svg;
mod text;

pub use dot::dot;
pub use mermaid::mermaid;
pub use model::{DEPTH_MAX, Edge, EdgeKind, Graph, Kind, Node, Status};
pub use svg::{STYLE, inline_svg, svg};
