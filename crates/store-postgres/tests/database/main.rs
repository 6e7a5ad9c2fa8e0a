//! The store and a real PostgreSQL that others work on too, breaks, or refuses.

mod claims;
mod outages;
mod support;
