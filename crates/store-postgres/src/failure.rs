//! What to say when the store cannot continue: what happened, what it means, what to do.

use everstep_store::Error;

use crate::address::Address;

/// The database did not accept a commit for too long, or refuses it.
pub(crate) fn commit(address: &Address, why: &str) -> Error {
    failed(
        address,
        "cannot write to",
        why,
        "nothing that was acknowledged is lost; start again when it works",
    )
}

pub(crate) fn read(address: &Address, why: &str) -> Error {
    failed(address, "cannot read from", why, "start again when it works")
}

/// Another has the shards.
pub(crate) fn fenced(address: &Address, by: Option<&str>) -> Error {
    let by = by.unwrap_or("another server");
    Error::Fenced(
        format!(
            "{by} has taken over the database {address} from this server, which stood still for too long or \
             could not reach it; nothing that was acknowledged is lost: do not run two servers on one database"
        )
        .into(),
    )
}

/// The row of this node is gone.
pub(crate) fn removed(address: &Address) -> Error {
    Error::Fenced(
        format!(
            "the database {address} does not know this server any more: another server has taken over, or the \
             database was replaced by an older copy; make sure of that, and start again"
        )
        .into(),
    )
}

/// The database has less than it had acknowledged.
pub(crate) fn behind(address: &Address) -> Error {
    Error::Failed(
        format!(
            "the database {address} has lost commits that it had acknowledged: a standby that was not \
             synchronous was promoted, or an older copy restored; restore a newer copy, or start again to continue \
             without the missing work"
        )
        .into(),
    )
}

/// The servers of the address are not of one cluster.
pub(crate) fn other_cluster(address: &Address, found: &str, expected: &str) -> Error {
    Error::Failed(
        format!(
            "the database {address} is of cluster {found}, this server works on cluster {expected}: make sure that \
             the URL is right"
        )
        .into(),
    )
}

pub(crate) fn stopped(address: &Address) -> Error {
    failed(
        address,
        "cannot write to",
        "the writing thread has panicked",
        "start again, and report the panic",
    )
}

fn failed(address: &Address, what: &str, why: &str, advice: &str) -> Error {
    Error::Failed(format!("{what} the database {address}: {why}; {advice}").into())
}
