//! Who owns the shards: nodes that beat, and claims that are taken by comparing.
//!
//! Safety is the claim: every commit finds the claim of its shards as it was drawn, or writes nothing. Beats
//! only tell whether it is worth trying to take over.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use uuid::Uuid;

use crate::connect::Purpose;
use crate::fault::Fault;
use crate::session::Session;
use crate::statement::SCHEMA;

/// How long a claim waits for whoever is just committing.
const LOCK_TIMEOUT: &str = "1s";
/// Looks that must find the same beat before a node counts as dead.
const LOOKS: u32 = 5;

/// A process that works on the shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: Uuid,
    /// For people.
    pub(crate) name: String,
    /// Which process of which machine it is, if that is known.
    pub(crate) process: String,
    pub(crate) beat: i64,
}

/// A shard and its claim.
type Claim = (i16, Uuid);

/// All shards with their claims, and the nodes that have them.
pub(crate) struct Owners {
    claims: Vec<Claim>,
    pub(crate) nodes: Vec<Node>,
}

pub(crate) async fn owners(session: &Session) -> Result<Owners, Fault> {
    let claims = session.script(&format!("SELECT shard, claim FROM {SCHEMA}.owners")).await?;
    let claim = |row: &Vec<Option<String>>| {
        Some((row[0].as_deref()?.parse().ok()?, row[1].as_deref()?.parse().ok()?))
    };
    Ok(Owners { claims: claims.iter().filter_map(claim).collect(), nodes: nodes(session).await? })
}

/// Nodes that have shards.
async fn nodes(session: &Session) -> Result<Vec<Node>, Fault> {
    let question = format!(
        "SELECT node, name, process, beat FROM {SCHEMA}.nodes \
         WHERE node IN (SELECT node FROM {SCHEMA}.owners)"
    );
    let node = |row: Vec<Option<String>>| {
        let mut row = row.into_iter();
        Some(Node {
            id: row.next()??.parse().ok()?,
            name: row.next()??,
            process: row.next()??,
            beat: row.next()??.parse().ok()?,
        })
    };
    Ok(session.script(&question).await?.into_iter().filter_map(node).collect())
}

/// The node that is alive among those that have shards, if there is one. Compares no clocks: a beat that does
/// not change for `lease` of our own time, over several looks, is that of a dead node.
pub(crate) async fn living(
    session: &Session,
    nodes: &[Node],
    lease: Duration,
) -> Result<Option<Node>, Fault> {
    let mut watched: Vec<Node> = nodes.iter().filter(|node| !node.is_gone()).cloned().collect();
    let pause = lease / (LOOKS + 1);
    let mut looks = 0;
    let mut last = tokio::time::Instant::now();
    while !watched.is_empty() && looks <= LOOKS {
        tokio::time::sleep(pause).await;
        let now = self::nodes(session).await?;
        watched.retain_mut(|node| now.iter().any(|it| it.id == node.id));
        let changed = |node: &&Node| now.iter().any(|it| it.id == node.id && it.beat != node.beat);
        if let Some(alive) = watched.iter().find(changed) {
            return Ok(Some(alive.clone()));
        }
        // If this process or the database stood still, so may the other's beat have.
        looks = if last.elapsed() > pause * 3 { 0 } else { looks + 1 };
        last = tokio::time::Instant::now();
    }
    Ok(None)
}

impl Node {
    /// Whether it was a process of this machine that is no more.
    fn is_gone(&self) -> bool {
        let Some((place, pid)) = self.process.rsplit_once('/') else { return false };
        let pid = pid.parse().ok().and_then(Pid::from_raw);
        let Some(pid) = pid.filter(|_| machine().as_deref() == Some(place)) else { return false };
        test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
    }
}

/// This boot of this machine, and the namespace of its process ids.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), namespace.display()))
}

/// This process, as `Node::process`.
pub(crate) fn this_process() -> String {
    machine().map_or_else(String::new, |machine| format!("{machine}/{}", std::process::id()))
}

/// Enters a node, claims for it every shard whose claim is as it was seen, and removes the nodes that had them.
/// Returns how many shards were claimed: all, unless another was faster.
pub(crate) async fn take(
    session: &Session,
    seen: &Owners,
    node: &Node,
    claim: Uuid,
) -> Result<usize, Fault> {
    let Node { id, name, process, beat } = node;
    let (name, process) = (quoted(name), quoted(process));
    let row = |(shard, claim): &Claim| format!("({shard}::int2, '{claim}'::uuid)");
    let values: Vec<String> = seen.claims.iter().map(row).collect();
    let dead: Vec<Uuid> = seen.nodes.iter().map(|node| node.id).collect();
    let text = format!(
        "SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';\n\
         INSERT INTO {SCHEMA}.nodes (node, name, process, state, beat, wire_min, wire_max) \
         VALUES ('{id}', {name}, {process}, 0, {beat}, 1, 1);\n\
         UPDATE {SCHEMA}.owners o SET epoch = epoch + 1, claim = '{claim}', node = '{id}', offered = NULL \
         FROM (VALUES {}) s(shard, claim) WHERE o.shard = s.shard AND o.claim = s.claim RETURNING o.shard;\n\
         DELETE FROM {SCHEMA}.nodes WHERE node = ANY ('{}')",
        values.join(", "),
        array(&dead)
    );
    claimed(session, &text, &dead).await
}

/// Claims again what this node has, by any of the claims that it may have by now. After it, a commit of ours
/// whose outcome is unknown has happened or never will.
pub(crate) async fn take_again(
    session: &Session,
    mine: &[Uuid],
    me: Uuid,
    claim: Uuid,
) -> Result<usize, Fault> {
    let text = format!(
        "SET LOCAL lock_timeout = '{LOCK_TIMEOUT}';\n\
         UPDATE {SCHEMA}.owners SET epoch = epoch + 1, claim = '{claim}' \
         WHERE claim = ANY ('{}') AND node = '{me}' RETURNING shard",
        array(mine)
    );
    claimed(session, &text, &[me]).await
}

/// Runs a claim. If commits of these nodes are in its way for too long, their connections are ended: their
/// clients are gone or stand still.
async fn claimed(session: &Session, text: &str, nodes: &[Uuid]) -> Result<usize, Fault> {
    match session.script(text).await {
        Ok(rows) => Ok(rows.len()),
        // SQLSTATE of a lock that was not to be had in time.
        Err(Fault::Passing(what)) if what.contains("55P03") => {
            end_commits(session, nodes).await?;
            Err(Fault::Passing(what))
        }
        Err(fault) => Err(fault),
    }
}

/// Ends the connections on which nodes commit, but for this one. One that waits for a standby has committed
/// already, and ending it would make that visible before it is safe.
async fn end_commits(session: &Session, nodes: &[Uuid]) -> Result<(), Fault> {
    let names: Vec<String> =
        nodes.iter().map(|node| format!("'{}'", Purpose::Commit.application(*node))).collect();
    if names.is_empty() {
        return Ok(());
    }
    let text = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
         AND application_name IN ({}) AND state <> 'idle' AND wait_event IS DISTINCT FROM 'SyncRep'",
        names.join(", ")
    );
    session.script(&text).await.map(drop)
}

/// Gives all shards free and leaves.
pub(crate) async fn release(session: &Session, me: Uuid, mine: &[Uuid]) -> Result<(), Fault> {
    let text = format!(
        "UPDATE {SCHEMA}.owners SET claim = '{}', node = NULL WHERE claim = ANY ('{}') AND node = '{me}';\n\
         DELETE FROM {SCHEMA}.nodes WHERE node = '{me}'",
        Uuid::new_v4(),
        array(mine)
    );
    session.script(&text).await.map(drop)
}

/// Raises the beat of a node; none if the node is not there any more.
pub(crate) async fn beat(session: &Session, me: Uuid) -> Result<Option<i64>, Fault> {
    let text =
        format!("UPDATE {SCHEMA}.nodes SET beat = beat + 1 WHERE node = '{me}' RETURNING beat");
    let rows = session.script(&text).await?;
    Ok(rows.first().and_then(|row| row[0].as_deref()?.parse().ok()))
}

/// Who has the shards, for messages.
pub(crate) async fn owner_name(session: &Session) -> Option<String> {
    nodes(session).await.ok()?.into_iter().next().map(|node| node.name)
}

fn array(ids: &[Uuid]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("{{{}}}", ids.join(","))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace(['\0', '\\'], "").replace('\'', "''"))
}
