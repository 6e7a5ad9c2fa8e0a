//! One connection: statements that are prepared once, and what the server says without being asked.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Connection, Row, SimpleQueryMessage, Statement};

use crate::fault::{Fault, describe};
use crate::statement::Sql;

/// Statements that a connection keeps prepared; beyond that it starts anew.
const PREPARED_MAX: usize = 128;
/// A statement is planned for tables as they are then. It is prepared again after this many uses at first, and
/// after twice as many each time.
const USES_AT_FIRST: u32 = 32;
const USES_MAX: u32 = 8192;

pub(crate) struct Session {
    client: Client,
    task: JoinHandle<()>,
    said: Arc<Said>,
    prepared: Mutex<HashMap<u64, Prepared>>,
    /// Shared by all connections: what one finds out counts for all.
    prepares: Arc<AtomicBool>,
}

#[derive(Default)]
struct Said {
    /// Why the connection has ended.
    end: Mutex<Option<String>>,
    /// The last warning since it was last looked at.
    warning: Mutex<Option<String>>,
}

struct Prepared {
    statement: Statement,
    uses: u32,
    left: u32,
}

pub(crate) type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

impl Session {
    /// Drives the connection until the session is dropped. Must be called within the runtime.
    pub(crate) fn start<S, T>(
        client: Client,
        mut connection: Connection<S, T>,
        prepares: Arc<AtomicBool>,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let said = Arc::new(Said::default());
        let for_task = said.clone();
        let task = tokio::spawn(async move {
            loop {
                match poll_fn(|context| connection.poll_message(context)).await {
                    Some(Ok(AsyncMessage::Notice(notice))) if notice.severity() == "WARNING" => {
                        *lock(&for_task.warning) = Some(notice.message().to_owned());
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        *lock(&for_task.end) = Some(describe(&error));
                        return;
                    }
                    None => return,
                }
            }
        });
        Self { client, task, said, prepared: Mutex::default(), prepares }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Why it is closed, as far as anybody said.
    fn end(&self) -> String {
        lock(&self.said.end).clone().unwrap_or_else(|| "the connection was closed".to_owned())
    }

    /// The last warning since this was last asked.
    pub(crate) fn take_warning(&self) -> Option<String> {
        lock(&self.said.warning).take()
    }

    /// Runs a statement. Statements of other callers may be under way at the same time.
    pub(crate) async fn rows(
        &self,
        sql: &Sql,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Fault> {
        let rows = self.try_rows(sql, parameters).await;
        rows.map_err(|fault| match fault {
            Fault::Lost(_) if self.is_closed() => Fault::Lost(self.end()),
            Fault::Mixed(what) if !self.prepares.load(Ordering::Relaxed) => Fault::Refused(what),
            other => other,
        })
    }

    async fn try_rows(&self, sql: &Sql, parameters: Parameters<'_>) -> Result<Vec<Row>, Fault> {
        let all = [&sql.tag as &(dyn ToSql + Sync)].into_iter().chain(parameters.iter().copied());
        if self.prepares.load(Ordering::Relaxed) {
            let statement = self.statement(sql).await?;
            let all: Vec<_> = all.collect();
            Ok(self.client.query(&statement, &all).await?)
        } else {
            let types = std::iter::once(&Type::TEXT).chain(&sql.types).cloned();
            let typed: Vec<_> = all.zip(types).collect();
            Ok(self.client.query_typed(&sql.text, &typed).await?)
        }
    }

    async fn statement(&self, sql: &Sql) -> Result<Statement, Fault> {
        let uses = match self.use_prepared(sql.number) {
            Ok(statement) => return Ok(statement),
            Err(uses) => uses,
        };
        let types: Vec<Type> =
            std::iter::once(Type::TEXT).chain(sql.types.iter().cloned()).collect();
        let statement = self.client.prepare_typed(&sql.text, &types).await?;
        let mut prepared = lock(&self.prepared);
        if prepared.len() >= PREPARED_MAX {
            prepared.clear();
        }
        let entry = Prepared { statement: statement.clone(), uses, left: uses };
        prepared.insert(sql.number, entry);
        Ok(statement)
    }

    /// A statement that can be used as it is, or for how many uses to prepare it.
    fn use_prepared(&self, number: u64) -> Result<Statement, u32> {
        match lock(&self.prepared).get_mut(&number) {
            None => Err(USES_AT_FIRST),
            Some(Prepared { uses, left: 0, .. }) => Err((*uses * 2).min(USES_MAX)),
            Some(known) => {
                known.left -= 1;
                Ok(known.statement.clone())
            }
        }
    }

    /// Runs statements without parameters, as one transaction: what they return, as text.
    pub(crate) async fn script(&self, text: &str) -> Result<Vec<Vec<Option<String>>>, Fault> {
        let answers = self.client.simple_query(text).await.map_err(|error| match error.into() {
            Fault::Lost(_) if self.is_closed() => Fault::Lost(self.end()),
            other => other,
        })?;
        let row = |answer: &SimpleQueryMessage| match answer {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        };
        Ok(answers.iter().filter_map(row).collect())
    }
}

/// Closes the connection, whatever is under way on it. Nothing is cancelled: a statement that the server has
/// runs to its end.
impl Drop for Session {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
