//! The acceptance tests of triggers that need no process: on a virtual clock, with a scripted source.

mod control;
mod crash;
mod harness;
mod sources;
mod timers;
