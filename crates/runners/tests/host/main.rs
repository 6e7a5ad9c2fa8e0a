//! Functions in real processes: what well-behaved code, failing code and hostile code get.

mod command;
mod hostile;
mod house;
mod node;
mod python;
mod workers;
