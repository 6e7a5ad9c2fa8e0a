//! The disk of a simulated run: slow, and with a crash now and then.

use everstep_store::{Behaviour, CrashingStore, Space};

use crate::Fault;
use crate::fault;

pub(crate) use everstep_store::Rows;

pub(crate) type Disk = CrashingStore;

/// A disk that may be broken on purpose.
pub(crate) fn disk(shards: u16, seed: u64, behaviour: Behaviour, fault: Option<Fault>) -> Disk {
    let acknowledges_early = fault == Some(Fault::AcknowledgesEarly);
    let behaviour = Behaviour { acknowledges_early, ..behaviour };
    CrashingStore::new(shards, seed, behaviour)
        .corrupting(move |batch| fault::on_disk(fault, batch))
}

/// The machine stops and starts again.
pub(crate) fn crash(disk: &Disk, fault: Option<Fault>) {
    disk.crash();
    if fault == Some(Fault::LosesStarts) {
        disk.lose(Space::Executions);
    }
    if fault == Some(Fault::LosesInvocations) {
        disk.lose(Space::Invocations);
    }
}
