//! The stories of executions, as far as they are durable: read from the journal once, and extended by what is new.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use everstep_executions::{ExecutionId, Reader, Result, Summary};
use everstep_story::{RunId, Story};

use crate::byte_cache::ByteCache;

/// What stories that are not being read may take in memory.
const CACHE_BYTES: usize = 32 << 20;
/// Of a cause, so that a history of failures does not outgrow the cache. The events have all of it.
const CAUSE_BYTES_MAX: usize = 4096;

pub(crate) struct Stories {
    reader: Reader,
    kept: Mutex<ByteCache<Key, Arc<Mutex<Kept>>>>,
}

/// Names are used again after an execution has been removed.
type Key = (ExecutionId, i64);

struct Kept {
    story: Story,
    /// The first step that it does not have.
    next: u32,
}

impl Stories {
    pub(crate) fn new(reader: Reader) -> Self {
        Self { reader, kept: Mutex::new(ByteCache::new(CACHE_BYTES)) }
    }

    /// Looks at the story of an execution, with all that is durable now, as of the time `now_ms` if it has not ended.
    /// Reads the store.
    pub(crate) fn read<T>(
        &self,
        summary: &Summary,
        now_ms: i64,
        look: impl FnOnce(&Story) -> T,
    ) -> Result<T> {
        let key = (summary.id(), summary.started_ms);
        let kept = self.find(key, summary)?;
        let mut held = kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.extend(summary, &mut held)?;
        if held.story.standing() == everstep_story::Standing::Running {
            held.story.at(now_ms);
        }
        let seen = look(&held.story);
        let bytes = held.story.bytes();
        drop(held);
        self.lock().put(&key, kept, bytes);
        Ok(seen)
    }

    /// How many steps are durable. Reads the store.
    pub(crate) fn steps(&self, summary: &Summary) -> Result<u32> {
        let kept = self.find((summary.id(), summary.started_ms), summary)?;
        let mut held = kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.extend(summary, &mut held)?;
        Ok(held.next)
    }

    fn find(&self, key: Key, summary: &Summary) -> Result<Arc<Mutex<Kept>>> {
        if let Some(kept) = self.lock().get(&key) {
            return Ok(kept);
        }
        let kept = Arc::new(Mutex::new(self.begin(summary)?));
        // Others who want the same wait until it has been read.
        self.lock().put(&key, kept.clone(), 0);
        Ok(kept)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ByteCache<Key, Arc<Mutex<Kept>>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, summary: &Summary) -> Result<Kept> {
        let program = self.reader.prepared(summary)?.program.clone();
        let mut story = Story::new(program.dialect)
            .with_limits(program.limits)
            .with_causes_up_to(CAUSE_BYTES_MAX);
        story.begin(RunId(0), program.machine.clone(), None);
        Ok(Kept { story, next: 0 })
    }

    fn extend(&self, summary: &Summary, kept: &mut Kept) -> Result<()> {
        let Kept { story, next } = kept;
        self.reader.each_step_from(summary, *next, |number, events| {
            story.observe(RunId(0), &events);
            *next = number + 1;
            ControlFlow::Continue(())
        })
    }
}
