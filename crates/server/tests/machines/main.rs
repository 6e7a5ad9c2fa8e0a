//! Machines, their versions and aliases, activities and tags, through the service itself.

mod activities;
mod aliases;
mod creation;
mod deletion;
mod fixture;
mod pages;
mod server;
mod tags;
mod updates;
mod validation;
mod versions;
