//! State machines that are being deleted: a machine goes when none of its executions runs. All that is stored of its
//! executions goes first, a few at a time, and the children of Map Runs before their parents.

use everstep_executions::{ExecutionId, ListId};

/// So many batches are removed at a time, then others have their turn.
const ROUNDS_MAX: usize = 5;

/// All that can reach a removal.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Answers [`Request::Inspect`].
    Inspected(Found),
    /// Answers [`Request::ListExecutions`].
    Executions(Vec<ExecutionId>),
    /// Answers [`Request::ListMapRuns`]: the list of each run's children.
    MapRuns(Vec<ListId>),
    /// Answers [`Request::ListChildren`].
    Children(Vec<ExecutionId>),
    /// Answers [`Request::Delete`]: whether all are gone. One that was redriven meanwhile is not.
    Deleted(bool),
    /// Answers [`Request::DeleteRows`]: whether the machine is gone.
    RowsDeleted(bool),
}

/// The machine as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Absent,
    /// It is not being deleted, or one of its executions runs.
    InUse,
    /// It is being deleted, and none of its executions runs.
    Unused,
}

/// All that a removal asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Inspect,
    /// Reads some executions of the machine, if there are any.
    ListExecutions,
    ListMapRuns(ExecutionId),
    /// Reads some children of a Map Run, if there are any.
    ListChildren(ListId),
    Delete(Vec<ExecutionId>),
    /// Removes some rows of the machine, its own last.
    DeleteRows,
    /// Nothing more is to be done now.
    Finish(Progress),
}

/// How far a removal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The machine is in use.
    Waiting,
    /// There is more to remove.
    Unfinished,
    Gone,
}

#[derive(Debug, Default)]
pub struct Removal {
    /// Executions to be removed next, if they have no children.
    batch: Vec<ExecutionId>,
    /// How many of them have been searched for children.
    searched: usize,
    /// Map Runs of the current one.
    runs: Vec<ListId>,
    rounds: usize,
}

impl Removal {
    #[must_use]
    pub fn open() -> (Self, Request) {
        (Self::default(), Request::Inspect)
    }

    pub fn handle(&mut self, input: Input) -> Request {
        match input {
            Input::Inspected(Found::Absent) | Input::RowsDeleted(true) => {
                Request::Finish(Progress::Gone)
            }
            Input::Inspected(Found::InUse) | Input::Deleted(false) => {
                Request::Finish(Progress::Waiting)
            }
            Input::Inspected(Found::Unused) => Request::ListExecutions,
            Input::Executions(executions) if executions.is_empty() => Request::DeleteRows,
            Input::Executions(executions) => self.search(executions),
            Input::MapRuns(runs) => {
                self.runs = runs;
                self.next()
            }
            Input::Children(children) if children.is_empty() => self.next(),
            Input::Children(children) => self.search(children),
            Input::Deleted(true) | Input::RowsDeleted(false) => self.next_round(),
        }
    }

    fn search(&mut self, executions: Vec<ExecutionId>) -> Request {
        (self.batch, self.searched) = (executions, 0);
        self.runs.clear();
        self.next()
    }

    fn next(&mut self) -> Request {
        if let Some(run) = self.runs.pop() {
            return Request::ListChildren(run);
        }
        match self.batch.get(self.searched) {
            Some(execution) => {
                self.searched += 1;
                Request::ListMapRuns(*execution)
            }
            None => Request::Delete(std::mem::take(&mut self.batch)),
        }
    }

    fn next_round(&mut self) -> Request {
        self.rounds += 1;
        if self.rounds < ROUNDS_MAX {
            Request::Inspect
        } else {
            Request::Finish(Progress::Unfinished)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Executions by name; `p/r/c` is a child of the Map Run `p/r`.
    struct World {
        executions: BTreeSet<String>,
        running: BTreeSet<String>,
        exists: bool,
        rows: u32,
    }

    impl World {
        fn new(executions: &[&str]) -> Self {
            let executions = executions.iter().map(|&name| name.to_owned()).collect();
            Self { executions, running: BTreeSet::new(), exists: true, rows: 3 }
        }

        fn name(&self, id: ExecutionId) -> String {
            let found = self.executions.iter().find(|name| ExecutionId::of(name) == id);
            found.expect("it is there").clone()
        }

        fn lists(&self) -> BTreeMap<String, Vec<ExecutionId>> {
            let mut lists: BTreeMap<String, Vec<ExecutionId>> = BTreeMap::new();
            for name in &self.executions {
                let list = name.rsplit_once('/').map_or("", |(list, _)| list);
                lists.entry(list.to_owned()).or_default().push(ExecutionId::of(name));
            }
            lists
        }

        fn answer(&mut self, request: Request) -> Input {
            match request {
                Request::Inspect if !self.exists => Input::Inspected(Found::Absent),
                Request::Inspect if !self.running.is_empty() => Input::Inspected(Found::InUse),
                Request::Inspect => Input::Inspected(Found::Unused),
                Request::ListExecutions => {
                    let some = self.lists().remove("").unwrap_or_default();
                    Input::Executions(some.into_iter().take(2).collect())
                }
                Request::ListMapRuns(id) => {
                    let prefix = format!("{}/", self.name(id));
                    let runs = self.lists().into_keys();
                    let own = |list: &String| {
                        list.strip_prefix(&prefix).is_some_and(|rest| !rest.contains('/'))
                    };
                    Input::MapRuns(runs.filter(own).map(|run| ListId::of(&run)).collect())
                }
                Request::ListChildren(list) => {
                    let mut lists = self.lists().into_iter();
                    let found = lists.find(|(name, _)| ListId::of(name) == list);
                    Input::Children(found.map_or_else(Vec::new, |(_, children)| children))
                }
                Request::Delete(ids) => {
                    for id in &ids {
                        let name = self.name(*id);
                        let below = format!("{name}/");
                        let orphan = self.executions.iter().find(|name| name.starts_with(&below));
                        assert_eq!(orphan, None, "children go before {name}");
                        self.executions.remove(&name);
                    }
                    Input::Deleted(true)
                }
                Request::DeleteRows => {
                    assert!(self.executions.is_empty(), "executions go before the machine");
                    self.rows -= 1;
                    self.exists = self.rows > 0;
                    Input::RowsDeleted(!self.exists)
                }
                Request::Finish(_) => unreachable!("it is seen to by its caller"),
            }
        }

        /// Does at most so many steps.
        fn remove(&mut self, steps: usize) -> Option<Progress> {
            let (mut removal, mut request) = Removal::open();
            for _ in 0..steps {
                if let Request::Finish(progress) = request {
                    return Some(progress);
                }
                request = removal.handle(self.answer(request));
            }
            None
        }
    }

    const ALL: &[&str] = &["a", "a/r/1", "a/r/2", "a/s/1", "a/r/1/t/1", "b", "c", "c/r/1"];

    #[test]
    fn everything_goes_whatever_is_interrupted() {
        for crash_at in 0..60 {
            let mut world = World::new(ALL);
            world.remove(crash_at);
            let mut progress = Some(Progress::Unfinished);
            for _ in 0..20 {
                if progress == Some(Progress::Unfinished) {
                    progress = world.remove(1000);
                }
            }
            assert_eq!(progress, Some(Progress::Gone));
            assert!(!world.exists && world.executions.is_empty());
        }
    }

    #[test]
    fn a_machine_in_use_stays() {
        let mut world = World::new(ALL);
        world.running.insert("b".to_owned());
        assert_eq!(world.remove(1000), Some(Progress::Waiting));
        assert_eq!(world.executions.len(), ALL.len());
    }

    #[test]
    fn work_is_bounded() {
        let mut world = World::new(ALL);
        assert_eq!(world.remove(1000), Some(Progress::Unfinished));
    }
}
