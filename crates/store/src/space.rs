//! Where rows are.

/// Rows of different kinds are kept apart, so that each kind can be scanned by itself and stored in
/// the way that suits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// One row for each execution: who it is and how it stands.
    Executions = 0,
    /// One row for each step of an execution. The bulk of the data, written once, read seldom.
    Journal = 1,
    /// Orders in which executions are listed. Keys only.
    Lists = 2,
    /// What must be woken when, or at once after a start. Rows come and go.
    Wakes = 3,
    /// Executions by the moment of their end. Keys only.
    Closed = 4,
    /// What was decided and has yet to be done outside. Rows come and go.
    Outbox = 5,
    /// Definitions and everything else that users name.
    Catalog = 6,
    /// Invocations of functions: how each stands, what it was given and what it answered; sessions.
    Invocations = 7,
    /// The orders in which invocations are found: due, listed, to be delivered, to be removed.
    InvocationOrders = 8,
    /// What triggers note beside the invocations that they start: how far each has come, and what is in flight.
    Triggers = 9,
    /// Queues: what each is, the messages that it holds, which ids it has seen lately.
    Queues = 10,
    /// The orders in which messages are found: ready, delayed, in flight. Rows come and go.
    QueueOrders = 11,
}

impl Space {
    pub const ALL: [Self; 12] = [
        Self::Executions,
        Self::Journal,
        Self::Lists,
        Self::Wakes,
        Self::Closed,
        Self::Outbox,
        Self::Catalog,
        Self::Invocations,
        Self::InvocationOrders,
        Self::Triggers,
        Self::Queues,
        Self::QueueOrders,
    ];

    /// A name for files and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Executions => "executions",
            Self::Journal => "journal",
            Self::Lists => "lists",
            Self::Wakes => "wakes",
            Self::Closed => "closed",
            Self::Outbox => "outbox",
            Self::Catalog => "catalog",
            Self::Invocations => "invocations",
            Self::InvocationOrders => "invocation-orders",
            Self::Triggers => "triggers",
            Self::Queues => "queues",
            Self::QueueOrders => "queue-orders",
        }
    }
}

/// A part of all rows, with one owner at a time. Every row belongs to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(pub u16);

impl Shard {
    /// Holds what belongs to no execution and may be written by anybody.
    pub const CATALOG: Self = Self(u16::MAX);
}
