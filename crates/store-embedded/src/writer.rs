//! The thread that writes: everything that waits becomes one commit, and one sync serves it all.
//!
//! It adds no delay: while one group is being synced, the next one gathers.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use everstep_store::Result;
use everstep_store::group::{Pending, Queue, judge};

use crate::failure;
use crate::mark::Mark;
use crate::rows::{Fault, Rows};

pub(crate) struct Writer {
    pub(crate) directory: PathBuf,
    pub(crate) queue: Arc<Queue>,
    pub(crate) rows: Arc<Rows>,
    pub(crate) mark: Mark,
    /// The number of the last commit.
    pub(crate) number: u64,
}

impl Writer {
    /// Runs until the queue is closed and empty.
    pub(crate) fn run(mut self) {
        let queue = Arc::clone(&self.queue);
        queue.serve(|group| self.write(group));
        self.mark.stop();
    }

    /// Makes a group durable, and says what became of each of its batches.
    fn write(&mut self, group: &mut [Pending]) -> Result<Vec<Result<()>>> {
        let written = self.try_write(group);
        written.map_err(|fault| failure::commit(&self.directory, &fault))
    }

    fn try_write(&mut self, group: &mut [Pending]) -> std::result::Result<Vec<Result<()>>, Fault> {
        let batches = group.iter().map(|pending| &pending.batch);
        let answers = judge(batches, |(shard, space, key)| self.rows.get(shard, space, key))?;
        let accepted = || group.iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        let writes = accepted().map(|(pending, _)| pending.batch.writes.len()).sum();
        if writes > 0 {
            let mut changes = self.rows.changes(self.number + 1, writes);
            for (pending, _) in group.iter_mut().zip(&answers).filter(|(_, answer)| answer.is_ok())
            {
                let shard = pending.batch.shard;
                pending.batch.writes.drain(..).for_each(|write| changes.add(shard, write));
            }
            changes.commit()?;
            self.number += 1;
            self.mark.acknowledge(self.number);
        }
        Ok(answers)
    }
}

impl Drop for Writer {
    /// A panic of a callback ends the thread: nobody may wait for it any longer.
    fn drop(&mut self) {
        if thread::panicking() {
            self.queue.fail(failure::stopped(&self.directory));
        }
    }
}
