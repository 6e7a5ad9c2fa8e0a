//! ARNs of the service.

use std::fmt;

/// A parsed ARN of the service. `label` names the Map state whose children run a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arn<'a> {
    /// `arn:aws:states:us-east-1:123456789012`
    pub place: &'a str,
    pub kind: Kind<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind<'a> {
    /// The qualifier is a version's number or an alias's name.
    StateMachine {
        name: &'a str,
        label: Option<&'a str>,
        qualifier: Option<&'a str>,
    },
    Execution {
        machine: &'a str,
        label: Option<&'a str>,
        name: &'a str,
    },
    Express {
        machine: &'a str,
        label: Option<&'a str>,
        name: &'a str,
        run: &'a str,
    },
    Activity {
        name: &'a str,
    },
    MapRun {
        machine: &'a str,
        label: &'a str,
        run: &'a str,
    },
}

/// Why a text is not an ARN, with the message of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnArn(pub String);

impl<'a> Arn<'a> {
    pub fn parse(text: &'a str) -> Result<Self, NotAnArn> {
        let wrong = |what: &str| NotAnArn(format!("Invalid Arn: '{what}: {text}'"));
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let [prefix, partition, service, region, account, rest] = parts.as_slice() else {
            return Err(wrong("Invalid ARN prefix"));
        };
        if *prefix != "arn" || !partition.starts_with("aws") {
            return Err(wrong("Invalid ARN prefix"));
        }
        if *service != "states" || region.is_empty() || account.is_empty() {
            return Err(wrong("Resource type not valid in this context"));
        }
        let place = &text[..text.len() - rest.len() - 1];
        let kind =
            Kind::parse(rest).ok_or_else(|| wrong("Resource type not valid in this context"))?;
        Ok(Self { place, kind })
    }
}

impl<'a> Kind<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        if parts.iter().any(|part| part.is_empty()) {
            return None;
        }
        let split = |name: &'a str| match name.split_once('/') {
            Some((name, label)) => (name, Some(label)),
            None => (name, None),
        };
        Some(match parts.as_slice() {
            ["stateMachine", name] => {
                let (name, label) = split(name);
                Self::StateMachine { name, label, qualifier: None }
            }
            ["stateMachine", name, qualifier] => {
                let (name, label) = split(name);
                Self::StateMachine { name, label, qualifier: Some(qualifier) }
            }
            ["execution", machine, name] => {
                let (machine, label) = split(machine);
                Self::Execution { machine, label, name }
            }
            ["express", machine, name, run] => {
                let (machine, label) = split(machine);
                Self::Express { machine, label, name, run }
            }
            ["activity", name] => Self::Activity { name },
            ["mapRun", machine, run] => {
                let (machine, label) = split(machine);
                Self::MapRun { machine, label: label?, run }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Arn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.place)?;
        let labelled = |f: &mut fmt::Formatter<'_>, name: &str, label: Option<&str>| match label {
            Some(label) => write!(f, "{name}/{label}"),
            None => f.write_str(name),
        };
        match &self.kind {
            Kind::StateMachine { name, label, qualifier } => {
                f.write_str("stateMachine:")?;
                labelled(f, name, *label)?;
                qualifier.map_or(Ok(()), |qualifier| write!(f, ":{qualifier}"))
            }
            Kind::Execution { machine, label, name } => {
                f.write_str("execution:")?;
                labelled(f, machine, *label)?;
                write!(f, ":{name}")
            }
            Kind::Express { machine, label, name, run } => {
                f.write_str("express:")?;
                labelled(f, machine, *label)?;
                write!(f, ":{name}:{run}")
            }
            Kind::Activity { name } => write!(f, "activity:{name}"),
            Kind::MapRun { machine, label, run } => write!(f, "mapRun:{machine}/{label}:{run}"),
        }
    }
}

/// The message of the service for an ARN of another kind.
#[must_use]
pub fn wrong_kind(arn: &str) -> String {
    let kind = arn.split(':').nth(5).unwrap_or_default();
    format!("Invalid Arn: 'Resource type not valid in this context: {kind}'")
}

/// What the service refuses in the name of a machine, an activity or an execution, beside the length that
/// the model bounds.
#[must_use]
pub fn name_problem(name: &str) -> Option<&'static str> {
    const REFUSED: &[char] = &[
        '<', '>', '{', '}', '[', ']', '?', '*', '"', '#', '%', '\\', '^', '|', '~', '`', '$', '&',
        ',', ';', ':', '/',
    ];
    let control = |c: char| c.is_control() || ('\u{fffe}'..='\u{ffff}').contains(&c);
    (name.chars().any(|c| c.is_whitespace() || control(c) || REFUSED.contains(&c)))
        .then_some("contains invalid characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_and_written_back() {
        let place = "arn:aws:states:us-east-1:123456789012";
        for rest in [
            "stateMachine:m",
            "stateMachine:m:3",
            "stateMachine:m:PROD",
            "stateMachine:m/label",
            "execution:m:e",
            "execution:m/label:e",
            "express:m:e:run",
            "activity:a",
            "mapRun:m/label:run",
        ] {
            let text = format!("{place}:{rest}");
            let arn = Arn::parse(&text).expect("an ARN");
            assert_eq!((arn.place, arn.to_string()), (place, text.clone()));
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "m",
            "arn:aws:states:us-east-1:123456789012",
            "arn:aws:lambda:us-east-1:1:function:f",
            "arn:aws:states:us-east-1:1:stateMachine:",
            "arn:aws:states:us-east-1:1:stateMachine:a:b:c",
            "arn:aws:states:us-east-1:1:mapRun:m:run",
            "arn:aws:states:::stateMachine:m",
        ] {
            assert!(Arn::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names() {
        assert_eq!(name_problem("Order-Flow_1.ä"), None);
        for name in ["a b", "a:b", "a/b", "a\u{7}", "a<b"] {
            assert!(name_problem(name).is_some(), "{name:?}");
        }
    }
}
