//! Executions through the service: every operation on them, on a store in memory.

mod activities;
mod ending;
mod express;
mod fixture;
mod map_runs;
mod nested;
mod pages;
mod starting;
mod stories;
mod tag_settings;
mod tasks;
