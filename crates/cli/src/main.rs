//! The `everstep` command.
fn main() {}
