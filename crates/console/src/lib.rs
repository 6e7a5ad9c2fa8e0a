//! The console's pages: what is to be shown goes in, HTML comes out.
//!
//! A [`Page`] is a list of fragments. The server writes them as a document, or sends those that have changed to a page
//! that is open. Everything that is shown goes through maud, which escapes it; the picture of a machine comes from the
//! crate `graph`, which does the same. Nothing here reads a clock, a store or a request.

pub mod assets;
mod data;
mod execution;
mod failure;
mod page;
pub mod pages;
mod parts;
mod picture;
mod time;
mod timeline;
pub mod url;

pub use data::Data;
pub use page::{Fragment, Notice, Page, Section, Site, document, fragments};
