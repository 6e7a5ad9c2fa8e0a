//! Lists of executions, latest first, page by page.
//!
//! A list is kept by status, so that the few that run are found among the many that are over; a page is
//! merged from the shards and the statuses asked for. A place in a list is the start of an execution and
//! its id: neither ever changes, so a page begins exactly where the last one ended whatever has happened
//! in between.

use everstep_store::{Scan, Shard, Space, after_prefix};

use crate::error::Result;
use crate::id::ListId;
use crate::layout::{self, Position};
use crate::reader::Reader;
use crate::summary::{Standing, Summary};

/// Where the next page begins; opaque to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bookmark(Position);

impl Bookmark {
    #[must_use]
    pub fn to_bytes(self) -> [u8; 24] {
        *self.0.bytes()
    }

    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Position::from_bytes(bytes).map(Self)
    }

    /// The latest that was started until then.
    #[must_use]
    pub fn until(started_ms: i64) -> Self {
        Self(Position::first(started_ms))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub executions: Vec<Summary>,
    /// If there are more.
    pub next: Option<Bookmark>,
}

impl Reader {
    /// A page of a list; of one status, or of all.
    pub fn list(
        &self,
        list: ListId,
        standing: Option<Standing>,
        from: Option<Bookmark>,
        limit: usize,
    ) -> Result<Page> {
        self.list_of(&[list], standing, from, limit)
    }

    /// A page of several lists as if they were one. Each list costs a read of each shard for each status.
    pub fn list_of(
        &self,
        lists: &[ListId],
        standing: Option<Standing>,
        from: Option<Bookmark>,
        limit: usize,
    ) -> Result<Page> {
        let standings = standing.map_or(Standing::ALL.to_vec(), |one| vec![one]);
        let mut sources: Vec<Source> = Vec::new();
        for shard in (0..self.store.shards()).map(Shard) {
            for list in lists {
                let of = |standing: &Standing| Source::new(shard, *list, *standing, from);
                sources.extend(standings.iter().map(of));
            }
        }
        if sources.is_empty() {
            return Ok(Page { executions: Vec::new(), next: None });
        }
        // A first guess that most pages do not exceed; each source reads on as it is needed.
        let chunk = (limit / sources.len() * 2).clamp(4, 1000);
        let mut executions: Vec<Summary> = Vec::new();
        loop {
            let Some((position, source)) = self.earliest(&mut sources, chunk)? else {
                return Ok(Page { executions, next: None });
            };
            if executions.len() == limit {
                return Ok(Page { executions, next: Some(Bookmark(position)) });
            }
            sources[source].waiting.pop();
            let summary = position.id().map(|id| self.summary(id)).transpose()?.flatten();
            // It may have gone, or changed its status and so be found twice.
            executions.extend(summary.filter(|found| {
                executions.last().is_none_or(|last| last.arn != found.arn)
                    && standing.is_none_or(|standing| found.standing == standing)
            }));
        }
    }

    /// The place that comes first, and which source has it.
    fn earliest(&self, sources: &mut [Source], chunk: usize) -> Result<Option<(Position, usize)>> {
        let mut first: Option<(Position, usize)> = None;
        for (index, source) in sources.iter_mut().enumerate() {
            source.fill(self, chunk)?;
            if let Some(position) = source.waiting.last().copied()
                && first.is_none_or(|(known, _)| position < known)
            {
                first = Some((position, index));
            }
        }
        Ok(first)
    }
}

/// The executions of a list that are in one shard and have one status.
struct Source {
    shard: Shard,
    prefix: Vec<u8>,
    /// Where to read on; nothing if all is read.
    from: Option<Vec<u8>>,
    /// Read and not used, the next one last.
    waiting: Vec<Position>,
}

impl Source {
    fn new(shard: Shard, list: ListId, standing: Standing, from: Option<Bookmark>) -> Self {
        let prefix = layout::list_prefix(list, standing);
        let first = from.map_or(prefix.clone(), |Bookmark(at)| layout::listed(list, standing, at));
        Self { shard, prefix, from: Some(first), waiting: Vec::new() }
    }

    fn fill(&mut self, reader: &Reader, chunk: usize) -> Result<()> {
        if !self.waiting.is_empty() {
            return Ok(());
        }
        let Some(from) = self.from.take() else { return Ok(()) };
        let to = after_prefix(&self.prefix);
        let scan = Scan::between(&from, &to, chunk);
        let rows = reader.store.scan(self.shard, Space::Lists, scan)?;
        if rows.len() == chunk {
            self.from = rows.last().map(|(key, _)| [key.as_slice(), &[0]].concat());
        }
        let position =
            |(key, _): &(Vec<u8>, Vec<u8>)| Position::from_bytes(key.get(self.prefix.len()..)?);
        self.waiting = rows.iter().rev().filter_map(position).collect();
        Ok(())
    }
}
