//! What a worker's process is before it becomes the function.
//!
//! Some things can only be done by a process to itself, between its start and the program it is there for:
//! to die with the engine, to lead a session, to be bounded. So the engine starts itself again with a
//! hidden command, which does them and then *becomes* the program. Nothing stays in between.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use rustix::process::{Resource, Rlimit, getppid, setrlimit, setsid};

/// Ends the process if the program could not be started; the last line on standard error says why.
pub(crate) const EXIT_NOT_STARTED: i32 = 213;
/// How that line begins.
pub(crate) const COMPLAINT: &str = "everstep: ";

/// What a process has to do before it becomes a worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Order {
    /// The process that must still be alive: only it can end this one.
    pub(crate) parent: u32,
    /// Control groups to join.
    pub(crate) groups: Vec<PathBuf>,
    /// Bytes of private memory that can be written.
    pub(crate) data_bytes: Option<u64>,
    /// Processes of the user.
    pub(crate) processes: Option<u64>,
    pub(crate) program: Vec<OsString>,
}

impl Order {
    pub(crate) fn to_args(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["--parent".into(), self.parent.to_string().into()];
        for group in &self.groups {
            args.extend(["--group".into(), group.into()]);
        }
        for (name, value) in [("--data", self.data_bytes), ("--processes", self.processes)] {
            if let Some(value) = value {
                args.extend([name.into(), value.to_string().into()]);
            }
        }
        args.push("--".into());
        args.extend(self.program.iter().cloned());
        args
    }

    fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Self, Complaint> {
        let mut order = Self::default();
        while let Some(name) = args.next() {
            if name == "--" {
                order.program = args.collect();
                return Ok(order);
            }
            let value = args.next().ok_or_else(|| Complaint::new("an option without a value"))?;
            let number = || value.to_str().and_then(|text| text.parse().ok());
            match name.to_str() {
                Some("--parent") => order.parent = number().unwrap_or_default() as u32,
                Some("--group") => order.groups.push(value.into()),
                Some("--data") => order.data_bytes = number(),
                Some("--processes") => order.processes = number(),
                _ => return Err(Complaint::new(format!("unknown option {}", name.display()))),
            }
        }
        Err(Complaint::new("there is nothing to start"))
    }
}

/// Becomes the program that `args` name; returns only if that is impossible.
pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let complaint = match Order::parse(args).and_then(|order| order.prepare().map(|()| order)) {
        Ok(order) => order.become_program(),
        Err(complaint) => complaint,
    };
    eprintln!("{COMPLAINT}{complaint}");
    ExitCode::from(EXIT_NOT_STARTED as u8)
}

impl Order {
    fn prepare(&self) -> Result<(), Complaint> {
        die_with_parent()?;
        // The parent may have ended before that was asked for.
        if getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) != Some(self.parent) {
            return Err(Complaint::new("the engine that started this process is gone"));
        }
        for group in &self.groups {
            std::fs::write(group.join("cgroup.procs"), "0")
                .map_err(|error| Complaint::new(format!("{}: {error}", group.display())))?;
        }
        setsid().map_err(|error| Complaint::new(format!("cannot lead a session: {error}")))?;
        bound(Resource::Core, Some(0))?;
        bound(Resource::Data, self.data_bytes)?;
        bound(Resource::Nproc, self.processes)
    }

    fn become_program(&self) -> Complaint {
        let Some((program, args)) = self.program.split_first() else {
            return Complaint::new("there is nothing to start");
        };
        let error = Command::new(program).args(args).exec();
        Complaint::new(format!("cannot start {}: {error}", program.display()))
    }
}

#[cfg(target_os = "linux")]
fn die_with_parent() -> Result<(), Complaint> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Complaint::new(format!("cannot be tied to the engine: {error}")))
}

/// Elsewhere the next host ends what is left behind.
#[cfg(not(target_os = "linux"))]
fn die_with_parent() -> Result<(), Complaint> {
    Ok(())
}

/// Never raises a limit that is lower already.
fn bound(resource: Resource, most: Option<u64>) -> Result<(), Complaint> {
    let Some(most) = most else { return Ok(()) };
    let now = rustix::process::getrlimit(resource);
    let most = now.maximum.map_or(most, |maximum| maximum.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })
        .map_err(|error| Complaint::new(format!("cannot be bounded: {error}")))
}

#[derive(Debug)]
struct Complaint(String);

impl Complaint {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(order: &Order) {
        assert_eq!(&Order::parse(order.to_args().into_iter()).unwrap(), order);
    }

    #[test]
    fn orders_arrive_as_they_were_given() {
        check(&Order { parent: 7, program: vec!["sh".into(), "--".into()], ..Order::default() });
        check(&Order {
            parent: 1,
            groups: vec!["/a b".into(), "/c".into()],
            data_bytes: Some(5),
            processes: Some(6),
            program: vec!["x".into()],
        });
    }
}
