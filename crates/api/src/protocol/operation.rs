//! What is known of an operation. The list of them is generated: see `model.rs`.

use super::model::{Name, Operation};
use super::shape::{Kind, Member, Shape};

/// The facts of one operation.
pub(super) struct Description {
    pub(super) name: &'static str,
    pub(super) input: &'static Shape,
    pub(super) output: &'static Shape,
    pub(super) errors: &'static [Name],
    pub(super) host_prefix: &'static str,
}

impl Operation {
    /// By its name: `StartExecution`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|operation| operation.name() == name)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        self.description().name
    }

    #[must_use]
    pub fn input(self) -> &'static Shape {
        self.description().input
    }

    #[must_use]
    pub fn output(self) -> &'static Shape {
        self.description().output
    }

    /// The errors a client of this operation expects. Errors of the protocol ([`super::Common`]) are
    /// not among them: any operation may answer those.
    #[must_use]
    pub fn errors(self) -> &'static [Name] {
        self.description().errors
    }

    #[must_use]
    pub fn declares(self, name: Name) -> bool {
        self.errors().contains(&name)
    }

    /// What SDKs put before the host for this operation: `sync-`, or nothing.
    #[must_use]
    pub fn host_prefix(self) -> &'static str {
        self.description().host_prefix
    }
}

impl Shape {
    /// The members of a structure; none of anything else.
    #[must_use]
    pub fn members(&self) -> &'static [Member] {
        match self.kind {
            Kind::Structure(members) => members,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_found_by_its_name() {
        assert_eq!(Operation::ALL.len(), 37);
        for operation in Operation::ALL {
            assert_eq!(Operation::find(operation.name()), Some(*operation));
            assert_eq!(format!("{operation:?}"), operation.name());
        }
        assert_eq!(Operation::find("startExecution"), None);
        assert_eq!(Operation::find(""), None);
    }

    #[test]
    fn two_operations_have_a_host_of_their_own() {
        let prefixed: Vec<_> = Operation::ALL
            .iter()
            .filter(|operation| !operation.host_prefix().is_empty())
            .map(|operation| (operation.name(), operation.host_prefix()))
            .collect();
        assert_eq!(prefixed, [("StartSyncExecution", "sync-"), ("TestState", "sync-")]);
    }

    #[test]
    fn declared_errors() {
        assert!(Operation::StartExecution.declares(Name::ExecutionAlreadyExists));
        assert!(!Operation::ListActivities.declares(Name::ValidationException));
        assert!(Operation::SendTaskSuccess.declares(Name::InvalidOutput));
        assert!(!Operation::SendTaskFailure.declares(Name::InvalidOutput));
    }

    #[test]
    fn one_member_is_an_idempotency_token() {
        let members = Operation::ALL.iter().flat_map(|operation| operation.input().members());
        let tokens: Vec<_> = members.filter(|member| member.idempotency_token).collect();
        assert_eq!(tokens.len(), 1);
        assert_eq!(tokens[0].name, "clientToken");
    }
}
