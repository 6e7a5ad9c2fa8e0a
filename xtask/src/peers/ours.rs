//! What our own server would say: the dialect `aws`, as `CreateStateMachine` refuses.

use everstep_asl::{Dialect, Options, Source, parse};
use serde_json::Value;

/// The rules by which a definition is refused, each once.
pub(super) fn rules(definition: &Value) -> Vec<&'static str> {
    let options = Options { dialect: Dialect::Aws, ..Options::default() };
    let parsed = parse(&Source::new("definition.json", definition.to_string()), &options);
    let mut rules = Vec::new();
    for found in parsed.diagnostics.iter().filter(|found| found.service.is_some()) {
        if !rules.contains(&found.code) {
            rules.push(found.code);
        }
    }
    rules
}
