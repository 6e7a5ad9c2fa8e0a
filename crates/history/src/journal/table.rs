//! The kinds of events and their fields, as records number them.
//!
//! A kind has the number before it, a field the number of its place. Neither ever changes, or
//! journals could no longer be read: a new kind takes the next number, a new field the last place
//! of its kind and a type that can be left out (an older record does not have it). Fields stand in
//! the order in which they most often have something to say, for those at the end are left out.

use super::Error;
use super::reader::Reader;
use super::writer::Writer;
use crate::Event;

macro_rules! table {
    ($use:ident) => {
        $use! {
            1 ExecutionStarted { input, at_ms }
            2 StateEntered { state, input, frame, at_ms }
            3 StateExited { output, next, frame, assigned, at_ms }

            4 TaskScheduled {
                attempt, parameters, deadline_ms, timeout_seconds, heartbeat_seconds, credentials,
                at_ms
            }
            5 TaskStarted { attempt, worker, at_ms }
            6 TaskSubmitted { attempt, output, at_ms }
            7 TaskSucceeded { attempt, output, at_ms }
            8 TaskFailed { attempt, failure, stage, at_ms }
            9 TaskTimedOut { attempt, failure, heartbeat, at_ms }
            10 StateAborted { frame, attempt, at_ms }

            11 RetryScheduled { failure, due_ms, retrier, frame, at_ms }
            12 StateFailed { failure, catcher, retrier, frame, at_ms }
            13 WaitStarted { until_ms, frame, at_ms }

            14 ParallelStarted { first, branches, input, frame, at_ms }
            15 ParallelSucceeded { frame, at_ms }
            16 ParallelFailed { failure, frame, at_ms }

            17 MapStarted { items, max_concurrency, distributed, frame, at_ms }
            18 IterationStarted { child, index, input, frame, after, at_ms }
            19 IterationSucceeded { child, at_ms }
            20 IterationFailed { child, failure, at_ms }
            21 IterationAborted { child, at_ms }
            22 MapSucceeded { frame, at_ms }
            23 MapFailed { failure, frame, at_ms }

            24 MapRunStarted {
                attempt, inputs, frame, at_ms, tolerated_count, tolerated_percentage
            }
            25 MapRunSucceeded { output, frame, at_ms }
            26 MapRunFailed { failure, frame, at_ms }

            27 EvaluationFailed { failure, location, frame, at_ms }

            28 ExecutionSucceeded { output, at_ms }
            29 ExecutionFailed { failure, at_ms }
            30 ExecutionTimedOut { at_ms }
            31 ExecutionAborted { failure, at_ms }
            32 ExecutionRedriven { count, at_ms }
            33 MapRunRedriven { attempt, run, count, frame, at_ms }
            34 MapInputsSelected { inputs, frame, at_ms }
        }
    };
}

macro_rules! codec {
    ($($number:literal $kind:ident { $($field:ident),* })*) => {
        pub(super) fn write<'e>(writer: &mut Writer<'e>, event: &'e Event) {
            match event {
                $(Event::$kind { $($field),* } => writer.fields(Some($number), &[$($field),*]),)*
            }
        }

        pub(super) fn read(reader: &mut Reader<'_>) -> Result<Event, Error> {
            let mut fields = reader.fields()?;
            let event = match fields.kind(reader)? {
                $($number => Event::$kind {
                    $($field: fields.next(reader, stringify!($field))?,)*
                },)*
                unknown => return Err(reader.newer(format!("event kind {unknown}"))),
            };
            fields.end(reader)?;
            Ok(event)
        }
    };
}

table!(codec);

#[cfg(test)]
pub(super) use table;
