//! Pictures of state machines.
