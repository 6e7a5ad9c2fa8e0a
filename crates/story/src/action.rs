//! What a user can do about an execution now, each with the command that does it.

use serde::{Deserialize, Serialize};

use crate::Standing;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action {
    pub action: Kind,
    /// What it is for: `continue from where it failed`.
    pub purpose: String,
    pub command: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Watch,
    Stop,
    Redrive,
    /// Another execution, with the same input or a changed one.
    StartAgain,
}

/// An execution, and how it stands.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'s> {
    pub arn: &'s str,
    pub standing: Standing,
    pub is_redrivable: bool,
}

#[must_use]
pub fn actions(of: Subject<'_>) -> Vec<Action> {
    let machine = machine(of.arn).map(quoted);
    let name = match &machine {
        Some(machine) => format!("{} --machine {machine}", quoted(name(of.arn))),
        None => quoted(of.arn),
    };
    let on = |verb: &str| format!("everstep executions {verb} {name}");
    let action =
        |action, purpose: &str, command| Action { action, purpose: purpose.to_owned(), command };
    let mut actions = Vec::new();
    if of.standing == Standing::Running {
        actions.push(action(Kind::Watch, "follow it until it ends", on("watch")));
        actions.push(action(Kind::Stop, "stop it", on("stop")));
    }
    if of.is_redrivable {
        actions.push(action(Kind::Redrive, "continue from where it failed", on("redrive")));
    }
    if let Some(machine) = machine.filter(|_| of.standing != Standing::Running) {
        let again = format!(
            "{} --json | jq -r .input | everstep executions start {machine} --input -",
            on("show")
        );
        actions.push(action(Kind::StartAgain, "start another execution with this input", again));
    }
    actions
}

fn name(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or_default()
}

/// The machine of an execution, unless a Map Run started it: those are found by their ARN only.
fn machine(arn: &str) -> Option<&str> {
    arn.rsplit(':').nth(1).filter(|machine| !machine.contains('/'))
}

/// For a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:states:us-east-1:1:execution:order:o 1";

    fn check(standing: Standing, is_redrivable: bool, expected: &[Kind]) {
        let found = actions(Subject { arn: ARN, standing, is_redrivable });
        let kinds: Vec<Kind> = found.iter().map(|action| action.action).collect();
        assert_eq!(kinds, expected, "{standing:?}");
    }

    #[test]
    fn what_can_be_done_depends_on_how_it_stands() {
        check(Standing::Running, false, &[Kind::Watch, Kind::Stop]);
        check(Standing::Failed, true, &[Kind::Redrive, Kind::StartAgain]);
        check(Standing::Failed, false, &[Kind::StartAgain]);
        check(Standing::Succeeded, false, &[Kind::StartAgain]);
    }

    #[test]
    fn executions_are_named_by_machine_and_name_or_by_their_arn() {
        let stop = |arn| {
            let of = Subject { arn, standing: Standing::Running, is_redrivable: false };
            actions(of).pop().map(|action| action.command)
        };
        let expected = "everstep executions stop 'o 1' --machine order";
        assert_eq!(stop(ARN).as_deref(), Some(expected));
        let child = "arn:aws:states:us-east-1:1:execution:order/Ship:c-1";
        let expected = format!("everstep executions stop '{child}'");
        assert_eq!(stop(child), Some(expected));
    }

    #[test]
    fn names_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("order-17", "order-17"),
            ("a b", "'a b'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
