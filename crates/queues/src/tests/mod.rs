//! Queues as a shard keeps them, with a store that crashes.

mod crash;
mod dead_letters;
mod delays;
mod fifo;
mod harness;
mod manage;
mod memory;
mod messages;
mod waiting;
