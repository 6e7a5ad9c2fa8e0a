//! What an execution runs by: a definition and its circumstances, kept for ever under the digest of
//! its content, and the programs made from them.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_asl::model::{Kind, Resource};
use everstep_asl::{Machine, Options, Source, WorkflowType, parse};
use everstep_interpreter::{Dialect, Identity, Limits, Program, TokenKey};
use everstep_shards::row;
use everstep_store::{Batch, Done, Shard, Space, Store};
use minicbor::{Decode, Encode};

use crate::error::{Error, Result};
use crate::id::digest;
use crate::layout;

/// A state machine as it was when executions of it were started. Two that are equal are one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Revision {
    #[n(0)]
    pub machine_arn: String,
    #[n(1)]
    pub machine_name: String,
    #[n(2)]
    pub role_arn: String,
    #[n(3)]
    pub definition: String,
    /// An EXPRESS workflow: nothing of its executions is stored.
    #[n(4)]
    pub express: bool,
    /// The dialect of the service, not that of the specification.
    #[n(5)]
    pub aws: bool,
    #[n(6)]
    pub payload_bytes: u64,
    #[n(7)]
    pub history_events: Option<u32>,
    #[n(8)]
    pub inline_concurrency: u32,
    /// The distributed Map whose children run by this: they run its processor alone.
    #[n(9)]
    pub map: Option<String>,
    /// What its executions log; none if nothing.
    #[n(10)]
    pub logging: Option<Logging>,
    /// None if waits take as long as the definition says.
    #[n(11)]
    pub wait_scale_millionths: Option<u64>,
    /// The destination for notifications of executions that do not succeed.
    #[n(12)]
    pub on_failure: Option<String>,
}

/// Which events of an execution are logged, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Logging {
    #[n(0)]
    pub level: Level,
    /// With inputs and outputs.
    #[n(1)]
    pub data: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Level {
    #[n(0)]
    All,
    #[n(1)]
    Error,
    #[n(2)]
    Fatal,
}

/// A revision by the digest of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct RevisionId(#[cbor(n(0), with = "minicbor::bytes")] [u8; 16]);

impl RevisionId {
    pub(crate) fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl Revision {
    #[must_use]
    pub fn new(machine_arn: &str, role_arn: &str, definition: &str) -> Self {
        let limits = Limits::default();
        Self {
            machine_arn: machine_arn.to_owned(),
            machine_name: machine_arn.rsplit(':').next().unwrap_or_default().to_owned(),
            role_arn: role_arn.to_owned(),
            definition: definition.to_owned(),
            express: false,
            aws: false,
            payload_bytes: limits.payload_bytes as u64,
            history_events: limits.history_events,
            inline_concurrency: limits.inline_concurrency,
            map: None,
            logging: None,
            wait_scale_millionths: None,
            on_failure: None,
        }
    }

    #[must_use]
    pub fn express(self) -> Self {
        Self { express: true, history_events: None, ..self }
    }

    /// What the children of a distributed Map run by. Their machine is called after the Map's label, and
    /// their parent reports their failures.
    #[must_use]
    pub fn of_children(&self, state: &str, label: &str, express: bool) -> Self {
        let children = Self {
            machine_arn: format!("{}/{label}", self.machine_arn),
            machine_name: format!("{}/{label}", self.machine_name),
            map: Some(state.to_owned()),
            on_failure: None,
            ..self.clone()
        };
        if express { children.express() } else { children }
    }

    #[must_use]
    pub fn dialect(self, dialect: Dialect) -> Self {
        Self { aws: dialect == Dialect::Aws, ..self }
    }

    fn encoded(&self) -> Vec<u8> {
        row::encode(self)
    }

    fn program(&self) -> Option<Program> {
        // Only a STANDARD workflow has distributed Maps, whatever their children are.
        let workflow_type = if self.express && self.map.is_none() {
            WorkflowType::Express
        } else {
            WorkflowType::Standard
        };
        let source = Source::new("definition", self.definition.as_str());
        let dialect = if self.aws { Dialect::Aws } else { Dialect::Spec };
        let parsed = parse(&source, &Options { workflow_type, dialect, ..Options::default() });
        let mut machine = parsed.into_accepted_machine()?;
        if let Some(map) = &self.map {
            machine = processor(&machine, map)?;
        }
        if self.express {
            let wanted = machine.timeout_seconds.unwrap_or(EXPRESS_SECONDS_MAX);
            machine.timeout_seconds = Some(wanted.min(EXPRESS_SECONDS_MAX));
        }
        Some(Program {
            machine: Arc::new(machine),
            dialect,
            limits: Limits {
                payload_bytes: usize::try_from(self.payload_bytes).unwrap_or(usize::MAX),
                history_events: self.history_events,
                inline_concurrency: self.inline_concurrency,
                wait_scale_millionths: self
                    .wait_scale_millionths
                    .unwrap_or(Limits::default().wait_scale_millionths),
                ..Limits::default()
            },
        })
    }
}

/// The machine that the children of a Map run.
fn processor(machine: &Machine, map: &str) -> Option<Machine> {
    let mut found = None;
    machine.each_state(&mut |state, _, _| {
        if let Kind::Map(kind) = &state.kind
            && *state.name == *map
        {
            found = Some(Machine::clone(&kind.processor));
        }
    });
    found
}

/// No EXPRESS workflow runs longer, whatever its definition says.
const EXPRESS_SECONDS_MAX: u64 = 300;

/// A revision, ready to run.
#[derive(Debug)]
pub struct Prepared {
    pub id: RevisionId,
    pub revision: Revision,
    pub program: Arc<Program>,
    /// Activities that the definition names.
    pub(crate) activities: Vec<String>,
    /// Its expressions take next to no time.
    pub(crate) is_light: bool,
    /// One of its executions has taken long.
    pub(crate) is_slow: AtomicBool,
    /// What all its executions share.
    anybody: Identity,
}

impl Prepared {
    /// The identity of an execution of this revision.
    #[must_use]
    pub fn identity(&self, execution_arn: &str) -> Identity {
        Identity {
            execution_arn: execution_arn.into(),
            execution_name: execution_name(execution_arn).into(),
            ..self.anybody.clone()
        }
    }

    fn new(id: RevisionId, revision: Revision, token_key: TokenKey) -> Result<Self> {
        let program = Arc::new(revision.program().ok_or(Error::InvalidDefinition)?);
        let anybody = Identity {
            execution_arn: "".into(),
            execution_name: "".into(),
            role_arn: revision.role_arn.as_str().into(),
            machine_arn: revision.machine_arn.as_str().into(),
            machine_name: revision.machine_name.as_str().into(),
            token_key,
        };
        let activities = activities(&program.machine);
        let (is_light, is_slow) = (program.machine.is_light(), AtomicBool::default());
        Ok(Self { id, revision, program, activities, is_light, is_slow, anybody })
    }
}

/// The name in an execution's ARN. That of an EXPRESS execution has an id behind it.
fn execution_name(arn: &str) -> &str {
    arn.split(':').nth(7).unwrap_or_default()
}

fn activities(machine: &Machine) -> Vec<String> {
    let mut found = Vec::new();
    machine.each_state(&mut |state, _, _| {
        if let Kind::Task(task) = &state.kind
            && let Resource::Activity { arn } = &*task.resource
            && !found.contains(arn)
        {
            found.push(arn.clone());
        }
    });
    found
}

/// Revisions that have been used lately, parsed.
pub(crate) struct Revisions {
    store: Arc<dyn Store>,
    token_key: TokenKey,
    cache: Mutex<Cache>,
}

struct Cache {
    prepared: HashMap<RevisionId, (u64, Arc<Prepared>)>,
    uses: u64,
}

/// Beyond this many, the ones unused for longest are parsed again when they are needed.
const CACHED_MAX: usize = 1024;

impl Revisions {
    pub(crate) fn new(store: Arc<dyn Store>, token_key: TokenKey) -> Self {
        Self { store, token_key, cache: Mutex::new(Cache { prepared: HashMap::new(), uses: 0 }) }
    }

    /// Makes a revision durable, unless it is, and calls `done` then.
    pub(crate) fn keep(&self, revision: Revision, done: Done) -> Result<Arc<Prepared>> {
        let encoded = revision.encoded();
        let id = RevisionId(digest(&encoded));
        let key = layout::revision(id);
        let prepared = self.prepare(id, revision)?;
        if self.store.get(Shard::CATALOG, Space::Catalog, &key)?.is_none() {
            let mut batch = Batch::new(Shard::CATALOG);
            batch.put(Space::Catalog, key, encoded);
            self.store.commit(batch, done);
        } else {
            done(Ok(()));
        }
        Ok(prepared)
    }

    pub(crate) fn find(&self, id: RevisionId) -> Result<Arc<Prepared>> {
        if let Some(found) = self.cached(id) {
            return Ok(found);
        }
        let key = layout::revision(id);
        let row = self.store.get(Shard::CATALOG, Space::Catalog, &key)?;
        let row =
            row.ok_or_else(|| Error::damaged("a definition that executions run by is gone"))?;
        let revision = row::decode("a definition", &row)?;
        self.prepare(id, revision)
    }

    fn cached(&self, id: RevisionId) -> Option<Arc<Prepared>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let now = cache.uses;
        let (used, prepared) = cache.prepared.get_mut(&id)?;
        *used = now;
        Some(prepared.clone())
    }

    fn prepare(&self, id: RevisionId, revision: Revision) -> Result<Arc<Prepared>> {
        if let Some(found) = self.cached(id) {
            return Ok(found);
        }
        let prepared = Arc::new(Prepared::new(id, revision, self.token_key)?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.uses += 1;
        let used = cache.uses;
        cache.prepared.insert(id, (used, prepared.clone()));
        if cache.prepared.len() > CACHED_MAX {
            cache.forget_oldest();
        }
        Ok(prepared)
    }
}

impl Cache {
    fn forget_oldest(&mut self) {
        let oldest = self.prepared.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.prepared.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that were stored before there were logs, scales and destinations keep their digests.
    #[test]
    fn what_is_not_set_is_not_stored() {
        let plain = Revision::new("arn", "role", "{}");
        assert_eq!(plain.encoded()[0], 0x89, "an array of nine");
        let logging = Some(Logging { level: Level::Error, data: true });
        let on_failure = Some("function:f".to_owned());
        let full = Revision { logging, wait_scale_millionths: Some(5), on_failure, ..plain };
        assert_eq!(minicbor::decode::<Revision>(&full.encoded()).unwrap(), full);
        assert_eq!(full.of_children("M", "label", false).on_failure, None);
    }
}
