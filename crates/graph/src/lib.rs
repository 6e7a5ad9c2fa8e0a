//! Pictures of state machines: [`svg`], [`mermaid`] and [`dot`].
//!
//! The crate draws a [`Graph`], a small model of its own, and must not know how definitions are
//! written or how executions run: whoever does fills the model. Nothing in a model is trusted:
//! names may hold markup, control characters or kilobytes of text, edges may point nowhere, and
//! the same model always gives the same bytes.

mod dot;
mod layout;
mod mermaid;
mod model;
mod picture;
mod svg;
mod text;

pub use dot::dot;
pub use mermaid::mermaid;
pub use model::{DEPTH_MAX, Edge, EdgeKind, Graph, Kind, Node, Status};
pub use svg::svg;
