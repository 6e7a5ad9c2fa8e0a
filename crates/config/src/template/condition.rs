//! `Conditions`: which parts of a template count.

use everstep_source::Span;
use everstep_source::document::{Content, Member, Node};

use super::evaluate::same;
use super::globals::is_call;
use super::scope::Scope;
use crate::rule::Rule;

impl Scope<'_> {
    /// Whether a condition of the template holds. One that cannot be evaluated does not.
    pub(super) fn condition(&self, name: &str, span: Span) -> bool {
        let Some(body) = self.condition_body(name) else {
            let message = format!("the template has no condition `{name}`");
            self.error(Rule::UnknownReference, span, message, None);
            return false;
        };
        self.within(&format!("condition {name}"), span, || self.body_holds(body)).unwrap_or(false)
    }

    fn body_holds(&self, body: &Node) -> Option<bool> {
        match &body.content {
            Content::Boolean(value) => Some(*value),
            Content::Object(members) if is_call(members) => self.holds(&members[0]),
            _ => {
                let message = "a condition is a call of Fn::Equals, Fn::And, Fn::Or or Fn::Not";
                self.error(Rule::WrongType, body.span, message, None);
                None
            }
        }
    }

    pub(super) fn holds(&self, call: &Member) -> Option<bool> {
        let argument = &call.value;
        match call.name.as_str() {
            "Condition" => Some(self.condition(argument.as_str()?, argument.span)),
            "Fn::Equals" => {
                let [one, other] = self.arguments(argument, "Fn::Equals", argument.span)?;
                Some(same(&self.evaluate(one)?, &self.evaluate(other)?))
            }
            "Fn::Not" => {
                let [body] = self.arguments(argument, "Fn::Not", argument.span)?;
                Some(!self.body_holds(body)?)
            }
            "Fn::And" => Some(self.each(argument).all(|holds| holds == Some(true))),
            "Fn::Or" => Some(self.each(argument).any(|holds| holds == Some(true))),
            name => {
                let message = format!("`{name}` is not a condition");
                self.error(Rule::WrongType, argument.span, message, None);
                None
            }
        }
    }

    fn each<'s>(&'s self, argument: &'s Node) -> impl Iterator<Item = Option<bool>> + 's {
        argument.as_array().unwrap_or_default().iter().map(|body| self.body_holds(body))
    }

    /// Evaluates what a name stands for; a name that depends on itself is reported.
    pub(super) fn within<T>(
        &self,
        name: &str,
        span: Span,
        evaluate: impl FnOnce() -> Option<T>,
    ) -> Option<T> {
        let position = self.path.borrow().iter().position(|known| known == name);
        if let Some(position) = position {
            let mut names = self.path.borrow()[position..].join(" → ");
            names.push_str(&format!(" → {name}"));
            let message = format!("`{name}` depends on itself: {names}");
            self.error(Rule::EndlessReference, span, message, None);
            return None;
        }
        self.path.borrow_mut().push(name.to_owned());
        let value = evaluate();
        self.path.borrow_mut().pop();
        value
    }
}
