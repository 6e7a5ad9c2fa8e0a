//! Tasks that start executions and wait for them.

use everstep_drivers::nested::{
    Busy, Called, Cancel, CancelInput, CancelRequest, Driver, Input as CallInput, PARENT, Refusal,
    Request as CallRequest,
};
use everstep_executions::{
    Cancelled, Error, ExecutionId, Message, Report, Standing, Start, Task, request_id,
};
use everstep_history::{Event, Failure, Payload};
use everstep_interpreter::attempt_name;
use serde_json::json;

use super::super::{Outcome, World};
use super::{Input, Request, Shell};
use crate::Fault;
use crate::drivers::Parent;

pub(super) struct Call {
    pub(super) driver: Driver,
    task: Task,
    /// Held until the driver is over: it may yet start what is to be stopped.
    pub(super) cancelled: Option<Cancelled>,
}

pub(super) struct Cancelling {
    pub(super) cancel: Cancel,
    cancelled: Cancelled,
}

impl Cancelling {
    pub(super) fn parent(&self) -> ExecutionId {
        self.cancelled.execution
    }
}

impl World {
    pub(in super::super) fn open_call(&mut self, task: Task) {
        self.tally.nested += 1;
        let (driver, request) = Driver::open();
        self.open_shell(
            Shell::Call(Box::new(Call { driver, task, cancelled: None })),
            [Request::Call(request)],
        );
    }

    /// The execution that a task starts: its name is made from the task's token.
    fn nested_arn(&self, token: &str) -> String {
        let mut name = request_id(token);
        if self.fault == Some(Fault::RenamesNested) {
            name = format!("{name}-{}", self.evidence.generation);
        }
        format!("arn:aws:states:us-east-1:000000000000:execution:nested:{name}")
    }

    pub(super) fn perform_call(&mut self, id: u64, request: CallRequest) -> Outcome {
        let busy = self.is_busy();
        let Some(Shell::Call(call)) = self.shells.live.get(&id) else { return Ok(()) };
        let task = call.task.clone();
        let message = match request {
            CallRequest::Call if busy => {
                self.answer_now(id, Input::Call(CallInput::Called(Err(Refusal::Busy))));
                return Ok(());
            }
            CallRequest::Call => return self.start_nested(id, &task),
            CallRequest::Submit(output) => Message::Report {
                id: task.execution,
                attempt: task.attempt,
                report: Report::Submitted { output },
                reply: Some(self.answer_to(id, |answer| {
                    Input::Call(CallInput::Submitted(answer.map_err(refusal)))
                })),
            },
            CallRequest::Watch(child) => Message::Watch {
                id: child,
                reply: self.answer_to(id, |answer| {
                    Input::Call(CallInput::Watched(answer.map(|_| ()).map_err(
                        |error| match error {
                            Error::NotFound => {
                                Refusal::Failed(Failure::new("States.TaskFailed", "it is gone"))
                            }
                            error => refusal(error),
                        },
                    )))
                }),
            },
            CallRequest::Describe(child) => {
                let described = self.described(child);
                let input =
                    described.map_or(Input::Drop, |end| Input::Call(CallInput::Described(end)));
                self.answer_now(id, input);
                return Ok(());
            }
            CallRequest::Stop(child) => {
                let reply = self.answer_to(id, |answer| {
                    let busy = matches!(answer, Err(Error::Busy));
                    Input::Call(CallInput::Stopped(if busy { Err(Busy) } else { Ok(()) }))
                });
                Message::Stop { id: child, failure: Failure::default(), reply }
            }
            CallRequest::Finish(result) => {
                match result {
                    Some(Ok(output)) => task.succeed(output),
                    Some(Err(failure)) => task.fail(failure),
                    None => {}
                }
                self.close(id);
                return Ok(());
            }
        };
        self.handle(message)
    }

    fn start_nested(&mut self, id: u64, task: &Task) -> Outcome {
        let token = task.attempt_name();
        let arn = self.nested_arn(&token);
        let machine =
            self.evidence.machines.iter().position(|machine| machine.arn.ends_with(":nested"));
        let Some(machine) = machine else { return Ok(()) };
        let prepared = self.evidence.machines[machine].prepared.clone();
        let input = Payload::new(json!({"n": 1, "items": []}));
        let mut start = Start::new(&arn, prepared, input.clone());
        start.labels.push((PARENT.to_owned(), token));
        let child = start.id;
        self.add_subject(arn, machine, input, Parent::Task(task.execution, task.attempt));
        let key = (task.execution, task.attempt);
        self.evidence.drivers.nested.entry(key).or_default().insert(child);
        let reply = self.answer_to(id, move |answer| {
            let output = Payload::new(json!({"ExecutionArn": "nested"}));
            let called = Called { output, child: Some(child) };
            Input::Call(CallInput::Called(match answer {
                Ok(_) => Ok(called),
                // It was started before a crash.
                Err(Error::AlreadyExists(_)) => Ok(called),
                Err(error) => Err(refusal(error)),
            }))
        });
        self.handle(Message::Start { start: Box::new(start), reply, watcher: None })
    }

    /// How a task ends, by the execution that it waits for.
    fn described(&self, child: ExecutionId) -> Option<Option<Result<Payload, Failure>>> {
        let reader = self.evidence.reader();
        let Some(summary) = reader.summary(child).ok()? else {
            return Some(Some(Err(Failure::new("States.TaskFailed", "it is gone"))));
        };
        if summary.standing == Standing::Running {
            return Some(None);
        }
        let last = reader.first_and_last(&summary).ok()?.map(|(_, last)| last).unwrap_or_default();
        let output = last.into_iter().rev().find_map(|event| match event {
            Event::ExecutionSucceeded { output, .. } => Some(output),
            _ => None,
        });
        Some(Some(output.ok_or_else(|| Failure::new("States.TaskFailed", "nested"))))
    }

    pub(super) fn cancel_call(&mut self, cancelled: Cancelled) {
        let key = (cancelled.execution, cancelled.attempt);
        for shell in self.shells.live.values_mut() {
            if let Shell::Call(call) = shell
                && (call.task.execution, call.task.attempt) == key
            {
                call.cancelled = Some(cancelled.clone());
            }
        }
        let (cancel, request) = Cancel::open();
        let cancelling = Cancelling { cancel, cancelled };
        self.open_shell(Shell::Cancel(Box::new(cancelling)), [Request::Cancel(request)]);
    }

    pub(super) fn perform_cancel(&mut self, id: u64, request: CancelRequest) -> Outcome {
        let Some(Shell::Cancel(cancelling)) = self.shells.live.get(&id) else { return Ok(()) };
        match request {
            CancelRequest::Find => {
                let Cancelled { execution_arn, attempt, .. } = &cancelling.cancelled;
                let child =
                    ExecutionId::of(&self.nested_arn(&attempt_name(execution_arn, *attempt)));
                let found = self.evidence.reader().summary(child);
                let input = found.map(|summary| {
                    Input::Cancel(CancelInput::Found(summary.map(|summary| summary.id())))
                });
                self.answer_now(id, input.unwrap_or(Input::Drop));
            }
            CancelRequest::Stop(child) => {
                let reply = self.answer_to(id, |answer| {
                    let busy = matches!(answer, Err(Error::Busy));
                    Input::Cancel(CancelInput::Stopped(if busy { Err(Busy) } else { Ok(()) }))
                });
                return self.handle(Message::Stop {
                    id: child,
                    failure: Failure::default(),
                    reply,
                });
            }
            CancelRequest::Finish => self.close(id),
        }
        Ok(())
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Busy => Refusal::Busy,
        Error::Settled | Error::NoSuchTask | Error::NotFound => Refusal::Settled,
        error => Refusal::Failed(Failure::new("States.TaskFailed", error.to_string())),
    }
}
