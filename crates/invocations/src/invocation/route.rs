//! Where an invocation's end is delivered. Read off the invocation, so that nothing else need be stored.

use std::borrow::Cow;

use super::{Invocation, State};
use everstep_target::Target;

use crate::function::{Edge, EdgeInput};
use crate::id::Recipient;

/// A route's place in the list is its number for ever: it is part of what it becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Route<'i> {
    Destination(&'i Target),
    Next(&'i Edge),
    /// The session that it is a step of.
    Session,
}

impl Invocation {
    pub(crate) fn routes(&self) -> Vec<Route<'_>> {
        let none: &[Target] = &[];
        let (targets, edges) = match self.state {
            State::Succeeded => (self.terms.on_success.as_slice(), Some(EdgeInput::Scalar)),
            State::Exhausted { .. } | State::Expired => {
                (self.terms.on_failure.as_slice(), Some(EdgeInput::Error))
            }
            _ => (none, None),
        };
        let next = self.terms.next.iter().filter(|edge| Some(edge.input) == edges);
        let session = self.session.filter(|_| self.state.is_over()).map(|_| Route::Session);
        targets.iter().map(Route::Destination).chain(next.map(Route::Next)).chain(session).collect()
    }

    /// The name of the route at an index.
    pub(crate) fn route_name(&self, index: u32) -> Cow<'_, str> {
        match self.routes().get(index as usize) {
            Some(Route::Destination(target)) => target.to_string().into(),
            Some(Route::Next(edge)) => format!("function:{}", edge.function).into(),
            Some(Route::Session) => "session".into(),
            None => "nobody".into(),
        }
    }

    pub(crate) fn recipient(&self, index: u32) -> Recipient {
        Recipient::named(&self.route_name(index))
    }
}
