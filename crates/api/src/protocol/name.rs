//! What is known of an error that operations declare. The list of them is generated: see `model.rs`.

use super::model::Name;

/// The facts of one error.
pub(super) struct Facts {
    pub(super) name: &'static str,
    pub(super) status: u16,
    /// What it carries beside its message.
    pub(super) members: &'static [&'static str],
}

impl Name {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// 400 for nearly all: the model gives none, but its text says 409 for a conflict and 402 for a
    /// quota. SDKs go by the name.
    #[must_use]
    pub fn status(self) -> u16 {
        self.facts().status
    }

    /// What it can carry beside its message, all text.
    #[must_use]
    pub fn members(self) -> &'static [&'static str] {
        self.facts().members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_errors() {
        assert_eq!(Name::ALL.len(), 33);
        assert_eq!(Name::InvalidArn.status(), 400);
        assert_eq!(Name::ConflictException.status(), 409);
        assert_eq!(Name::ServiceQuotaExceededException.status(), 402);
        assert_eq!(Name::ValidationException.members(), ["reason"]);
        assert_eq!(Name::ResourceNotFound.members(), ["resourceName"]);
        assert_eq!(Name::KmsInvalidStateException.members(), ["kmsKeyState"]);
    }
}
