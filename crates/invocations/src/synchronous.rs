//! Calls that somebody waits for, without a key: they go straight to a worker, once, and leave no rows.

use serde_json::{Map, Value};

use crate::concurrency::Permit;
use crate::context;
use crate::error::{Error, Result};
use crate::function::{Attempt, Outcome, Receipt};
use crate::id::{AttemptId, InvocationId};
use crate::invocation::Reason;
use crate::invocation::State;
use crate::message::{Finished, Reply};
use crate::request::Request;
use crate::world::World;

/// Runs a function once, with what the caller has given as client context. Refused if there is no slot: the caller is there to try again.
pub(crate) fn call(
    world: &World,
    request: Request,
    given: Map<String, Value>,
    ids: (InvocationId, AttemptId),
    reply: Reply<Finished>,
) {
    let (id, attempt) = ids;
    let Some(function) = world.functions.function(&request.function) else {
        return reply(Err(Error::NoSuchFunction(request.function)));
    };
    let permit = world.concurrency.try_now(&request.function, function.concurrency);
    let Some(permit) = permit else { return reply(Err(Error::Throttled)) };
    let call = Call { id, reply: Some(reply), _permit: permit };
    let attempt = Attempt {
        id: attempt,
        invocation: id,
        n: 1,
        function: request.function,
        version: function.version.clone(),
        payload: request.payload.into(),
        client_context: context::of_single_call(id, given),
        session: None,
    };
    let done = move |outcome, receipt| call.end(&outcome, receipt);
    world.functions.start(attempt, Box::new(done));
}

struct Call {
    id: InvocationId,
    reply: Option<Reply<Finished>>,
    _permit: Permit,
}

impl Call {
    /// There is nothing to make durable: the worker is told at once.
    fn end(mut self, outcome: &Outcome, receipt: Receipt) {
        receipt(Ok(()));
        self.answer(outcome);
    }

    fn answer(&mut self, outcome: &Outcome) {
        let state = match outcome {
            Outcome::Succeeded { .. } => Ok(State::Succeeded),
            Outcome::Failed { .. } => Ok(State::Exhausted { reason: Reason::RetriesExhausted }),
            Outcome::Throttled => Err(Error::Throttled),
        };
        let response = outcome.response();
        let finished: Result<Finished> =
            state.map(|state| Finished { id: self.id, state, response });
        if let Some(reply) = self.reply.take() {
            reply(finished);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.reply.is_some() {
            self.answer(&Outcome::interrupted());
        }
    }
}
