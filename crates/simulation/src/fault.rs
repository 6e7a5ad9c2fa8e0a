//! Parts that are broken on purpose, to see that the checkers notice.

use everstep_history::{Event, journal};
use everstep_invocations::{Invocation, Session, State};
use everstep_store::{Batch, Space};

/// What is broken. Never part of an ordinary run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk says that a batch is durable before it is.
    AcknowledgesEarly,
    /// The disk loses what says when executions must be woken.
    DropsWakes,
    /// The disk loses what says which executions are over.
    DropsClosed,
    /// The disk loses what says which executions are listed.
    DropsLists,
    /// Steps are written down without the retries they scheduled.
    ForgetsRetries,
    /// Steps are written down without the results they took.
    ForgetsResults,
    /// Steps are written down twice over.
    RepeatsEntries,
    /// Nothing is ever removed from the journal.
    KeepsSteps,
    /// Each task is dispatched twice.
    DispatchesTwice,
    /// Tasks are dispatched again under another number.
    RenamesTasks,
    /// The engine is given a time that is an hour ahead.
    ClockLies,
    /// Workers get the answer that their result counts when it does not.
    AcceptsEverything,
    /// Results do not reach the engine.
    LosesResults,
    /// Now and then a request is not answered.
    SwallowsReplies,
    /// A crash takes the rows of executions with it.
    LosesStarts,
    /// No failure is notified.
    NotifiesNobody,
    /// The disk loses what has yet to be done outside.
    DropsOutbox,
    /// Another engine takes the shard over.
    AnotherOwner,
    /// Shards get their turn an hour later than they asked for.
    LateTurns,
    /// Shards ask for a turn without end.
    Restless,
    /// A crash takes the rows of invocations with it.
    LosesInvocations,
    /// The disk loses what says that an invocation waits for its retry.
    LosesRetries,
    /// The disk loses what says that an attempt was interrupted.
    LosesInterruptions,
    /// Attempts are started before there is a worker for them.
    ClaimsWithoutAWorker,
    /// Functions are said to have more slots than they have.
    LendsSlots,
    /// With each attempt code is given the one before it once more.
    RunsEarlierAttempts,
    /// Events with a key are accepted under an id that is drawn.
    ForgetsKeys,
    /// The disk loses what says which records are to be delivered.
    DropsDeliveries,
    /// The disk loses what says which invocations are dead letters.
    DropsLetters,
    /// The disk never removes the event of an invocation.
    KeepsEvents,
    /// Records leave a few commits before they should.
    DeliversEarly,
    /// Records are confirmed, and never reach their destination.
    LosesRecords,
    /// Workers get the receipt that their answer counts when it does not.
    AcceptsStaleAnswers,
    /// The disk loses what sessions hear of their steps.
    DropsSteps,
    /// A Map Run that is taken up again gives its children other names.
    RenamesChildren,
    /// A Map Run is given the success of its children.
    MiscountsChildren,
    /// A task that is dispatched again starts another execution.
    RenamesNested,
    /// Cancellations are confirmed, and nothing is stopped.
    DropsCancellations,
    /// Tasks of activities are said to be with their workers when they are on their way.
    MarksEarly,
    /// Tasks of activities are not offered to workers.
    ForgetsOffers,
    /// The disk loses the count of an execution's failures.
    DropsDeaths,
    /// The disk never removes the entry of a session that has ended.
    KeepsSessions,
    /// Failures are said to have been notified, and are not.
    ForgetsNotifications,
}

/// What a broken disk makes of a batch.
pub(crate) fn on_disk(fault: Option<Fault>, mut batch: Batch) -> Batch {
    match fault {
        Some(Fault::DropsWakes) => batch.writes.retain(|write| write.space != Space::Wakes),
        Some(Fault::DropsDeaths) => batch.writes.retain(|write| {
            write.space != Space::Catalog || !write.key.starts_with(b"quarantine/")
        }),
        Some(Fault::DropsClosed) => batch.writes.retain(|write| write.space != Space::Closed),
        Some(Fault::DropsOutbox) => batch.writes.retain(|write| write.space != Space::Outbox),
        Some(Fault::DropsLists) => batch.writes.retain(|write| write.space != Space::Lists),
        Some(Fault::KeepsSessions) => batch.writes.retain(|write| {
            let entry = write.space == Space::InvocationOrders && write.key.first() == Some(&5);
            !entry || write.value.is_some()
        }),
        Some(Fault::DropsDeliveries) => drop_order(&mut batch, 6),
        Some(Fault::DropsLetters) => drop_order(&mut batch, 2),
        Some(Fault::KeepsEvents) => batch.writes.retain(|write| {
            let event = write.space == Space::Invocations && write.key.last() == Some(&1);
            !event || write.value.is_some()
        }),
        Some(Fault::LosesRetries) => batch.writes.retain(|write| {
            let record = write.value.as_deref().filter(|_| write.space == Space::Invocations);
            let record = record.and_then(|row| Invocation::decode(row).ok());
            !record.is_some_and(|record| matches!(record.state, State::Waiting { .. }))
        }),
        Some(Fault::LosesInterruptions) => batch.writes.retain(|write| {
            let record = (write.space == Space::Invocations).then_some(write.value.as_deref());
            let record = record.flatten().and_then(|row| Invocation::decode(row).ok());
            !record.is_some_and(|record| {
                record.state == State::Accepted && record.attempts.started() > 0
            })
        }),
        Some(Fault::DropsSteps) => batch.writes.retain(|write| {
            let session = write
                .value
                .as_deref()
                .filter(|_| write.space == Space::Invocations && write.key.last() == Some(&3));
            let session = session.and_then(|row| Session::decode(row).ok());
            !session.is_some_and(|session| session.steps.iter().any(|step| step.ended))
        }),
        Some(Fault::KeepsSteps) => {
            batch.writes.retain(|write| write.space != Space::Journal || write.value.is_some());
        }
        Some(Fault::ForgetsRetries) => {
            rewrite(&mut batch, |event, kept| {
                if !matches!(event, Event::RetryScheduled { .. }) {
                    kept.push(event);
                }
            });
        }
        Some(Fault::ForgetsResults) => {
            rewrite(&mut batch, |event, kept| {
                if !matches!(event, Event::TaskSucceeded { .. } | Event::TaskFailed { .. }) {
                    kept.push(event);
                }
            });
        }
        Some(Fault::RepeatsEntries) => {
            rewrite(&mut batch, |event, kept| {
                if matches!(event, Event::StateEntered { .. }) {
                    kept.push(event.clone());
                }
                kept.push(event);
            });
        }
        Some(Fault::AnotherOwner)
            if batch.writes.iter().any(|write| write.space == Space::Journal) =>
        {
            batch.put(Space::Catalog, b"owner".to_vec(), b"another".to_vec());
        }
        _ => {}
    }
    batch
}

fn drop_order(batch: &mut Batch, order: u8) {
    batch.writes.retain(|write| {
        write.space != Space::InvocationOrders || write.key.first() != Some(&order)
    });
}

fn rewrite(batch: &mut Batch, mut change: impl FnMut(Event, &mut Vec<Event>)) {
    for write in batch.writes.iter_mut().filter(|write| write.space == Space::Journal) {
        let Some(Ok(events)) = write.value.as_deref().map(journal::decode) else { continue };
        let mut kept = Vec::new();
        for event in events {
            change(event, &mut kept);
        }
        write.value = Some(journal::encode(&kept));
    }
}
