//! The store and a real PostgreSQL that others work on too, breaks, or refuses.

mod claims;
mod connecting;
mod outages;
mod pooler;
mod support;
