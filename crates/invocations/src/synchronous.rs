//! Synchronous calls without a key: they go straight to a worker, once, and leave no rows.

use std::sync::Arc;

use crate::concurrency::Permit;
use crate::context;
use crate::error::{Error, Result};
use crate::function::{Attempt, Outcome, Receipt};
use crate::id::InvocationId;
use crate::invocation::Reason;
use crate::invocation::State;
use crate::message::{Call, Finished, Reply};
use crate::shared::Shared;

/// Runs a function once, with what the caller has given as client context. If all slots are taken it waits
/// for its turn, or is refused if that is what the function wants: the caller is there to try again.
pub(crate) fn call(shared: &Arc<Shared>, call: Call, reply: Reply<Finished>, now_ms: i64) {
    let Call { ids: (id, attempt), request, client_context } = call;
    let Some(function) = shared.functions.function(&request.function) else {
        return reply(Err(Error::NoSuchFunction(request.function)));
    };
    let name = request.function.clone();
    let attempt = Attempt {
        id: attempt,
        invocation: id,
        n: 1,
        function: request.function,
        version: function.version.clone(),
        payload: request.payload.into(),
        client_context: context::of_single_call(id, client_context),
        session: None,
        key: None,
    };
    let limit = function.concurrency;
    let mut call = Pending { id, reply: Some(reply), permit: None };
    if let Some(permit) = shared.concurrency.try_now(&name, limit) {
        call.permit = Some(permit);
        return call.start(shared, attempt);
    }
    if function.throttles || limit == 0 {
        return call.refuse(if limit == 0 { Error::Forbidden } else { Error::Throttled });
    }
    let (turn, most) = (shared.clone(), shared.settings.calls_max);
    // Dropped if the queue is full.
    shared.concurrency.wait(
        &name,
        limit,
        most,
        (
            Box::new(move |permit| {
                call.permit = Some(permit);
                call.start(&turn, attempt);
            }),
            now_ms,
        ),
    );
}

/// A call whose answer is still due. If it is dropped it is answered.
struct Pending {
    id: InvocationId,
    reply: Option<Reply<Finished>>,
    permit: Option<Permit>,
}

impl Pending {
    fn start(self, shared: &Shared, attempt: Attempt) {
        let done = move |outcome, receipt| self.end(&outcome, receipt);
        // There is nothing to make durable.
        let claim = |receipt: Receipt| receipt(Ok(()));
        shared.functions.start(attempt, Box::new(claim), Box::new(done));
    }

    fn refuse(mut self, error: Error) {
        if let Some(reply) = self.reply.take() {
            reply(Err(error));
        }
    }

    /// There is nothing to make durable: the worker gets its receipt at once.
    fn end(mut self, outcome: &Outcome, receipt: Receipt) {
        receipt(Ok(()));
        self.answer(outcome);
    }

    fn answer(&mut self, outcome: &Outcome) {
        let state = match outcome {
            Outcome::Succeeded { .. } => Ok(State::Succeeded),
            Outcome::Failed { .. } | Outcome::Interrupted => {
                Ok(State::Exhausted { reason: Reason::RetriesExhausted })
            }
            Outcome::Throttled => Err(Error::Throttled),
        };
        let response = outcome.response();
        let finished: Result<Finished> =
            state.map(|state| Finished { id: self.id, state, response, log: outcome.log() });
        if let Some(reply) = self.reply.take() {
            reply(finished);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        match (&self.permit, self.reply.take()) {
            (_, None) => {}
            // It has waited for its turn, or the queue was full.
            (None, Some(reply)) => reply(Err(Error::Throttled)),
            (Some(_), reply) => {
                self.reply = reply;
                self.answer(&Outcome::Interrupted);
            }
        }
    }
}
