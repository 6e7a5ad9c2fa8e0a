//! Names of executions: from the item, so that a repeated start is found to be one.

use std::fmt;

/// A template of names: `pay-{messageId}`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionName(Vec<Part>);

/// What a name is made from.
#[derive(Debug, Clone, Copy)]
pub struct Named<'n> {
    pub trigger: &'n str,
    pub partition: &'n str,
    pub message: &'n str,
    /// What nothing else has: a UUID.
    pub id: &'n str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    MessageId,
    Trigger,
    Partition,
}

const FIELDS: [(&str, Field); 3] =
    [("messageId", Field::MessageId), ("trigger", Field::Trigger), ("partition", Field::Partition)];

/// The most letters of a name.
const LENGTH_MAX: usize = 80;

/// `{…}` has something else in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField(pub String);

impl ExecutionName {
    /// # Errors
    ///
    /// If it names a field that no item has.
    pub fn parse(text: &str) -> Result<Self, UnknownField> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) =
                after.split_once('}').ok_or_else(|| UnknownField(format!("{{{after}")))?;
            let field = FIELDS.iter().find(|(known, _)| *known == name);
            let (_, field) = field.ok_or_else(|| UnknownField(format!("{{{name}}}")))?;
            parts.extend([Part::Text(before.to_owned()), Part::Field(*field)]);
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }

    /// Whether two items have two names.
    #[must_use]
    pub fn names_the_item(&self) -> bool {
        self.0.contains(&Part::Field(Field::MessageId))
    }

    /// The name for an item. What cannot be in a name is replaced, and then the name ends with the id: names of other
    /// items stay others.
    #[must_use]
    pub fn fill(&self, named: &Named<'_>) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(Field::MessageId) => named.message.to_owned(),
            Part::Field(Field::Trigger) => named.trigger.to_owned(),
            Part::Field(Field::Partition) => named.partition.to_owned(),
        };
        let name: String = self.0.iter().map(part).collect();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.is_empty() && name.len() <= LENGTH_MAX && name.chars().all(is_plain) {
            return name;
        }
        let room = LENGTH_MAX.saturating_sub(1 + named.id.len());
        let plain = name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(room);
        format!("{}-{}", plain.collect::<String>(), named.id)
    }
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown field `{}`: use {{messageId}}, {{trigger}} or {{partition}}", self.0)
    }
}

impl std::error::Error for UnknownField {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, item: &str, expected: &str) {
        let template = ExecutionName::parse(template).expect("a template");
        let id = "00000000-0000-4000-8000-000000000001";
        let named = Named { trigger: "orders", partition: "3", message: item, id };
        assert_eq!(template.fill(&named), expected.replace("ID", id));
    }

    #[test]
    fn items_name_executions() {
        check("pay-{messageId}", "17", "pay-17");
        check("{trigger}-{partition}-{messageId}", "17", "orders-3-17");
        check("same", "17", "same");
        check("{messageId}", "a/b c", "a-b-c-ID");
        check("{messageId}", &"x".repeat(81), &format!("{}-ID", "x".repeat(43)));
        check("{messageId}", "", "-ID");
        check("{messageId}", "é", "--ID");
    }

    #[test]
    fn fields_are_known() {
        let field = |text| ExecutionName::parse(text).map_err(|UnknownField(field)| field);
        assert_eq!(field("a-{id}"), Err("{id}".to_owned()));
        assert_eq!(field("a-{messageId"), Err("{messageId".to_owned()));
        assert!(field("a").is_ok_and(|template| !template.names_the_item()));
        assert!(field("a{messageId}").is_ok_and(|template| template.names_the_item()));
    }
}
