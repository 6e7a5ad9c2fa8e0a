//! What a worker's process is before it becomes the function: see [`everstep_runners::shim`].

use std::process::ExitCode;

fn main() -> ExitCode {
    everstep_runners::shim::main(std::env::args_os().skip(1))
}
