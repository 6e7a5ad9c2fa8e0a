//! The acceptance tests of functions that need no process: on a virtual clock, with scripted functions.

mod chains;
mod crash;
mod destinations;
mod engine;
mod harness;
mod intake;
mod keys;
mod letters;
mod owners;
mod quarantine;
mod records;
mod retries;
