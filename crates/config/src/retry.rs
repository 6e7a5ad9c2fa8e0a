//! `retry`: Azure's two strategies as Azure writes them, one of our own, and rules by error.

use everstep_retry::{Class, Delay, Jitter, Policy, Rule as PolicyRule};
use everstep_source::document::Content;

use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;

pub(crate) fn policy(field: &Field<'_>) -> Option<Policy> {
    if field.node.as_str() == Some("none") {
        return Some(Policy::default());
    }
    if !matches!(field.node.content, Content::Object(_) | Content::Null) {
        let example = "retry: {strategy: fixedDelay, maxRetryCount: 3, delayInterval: 10s}";
        let found = field.wrong_type("an object or `none`").hint(format!("for example, {example}"));
        field.cx.report(found);
        return None;
    }
    let fields = field.settings("`retry`")?;
    let never = match fields.get("nonRetryable") {
        Some(field) => errors(&field),
        None => Some(Vec::new()),
    };
    let rules = match fields.get("rules") {
        Some(list) => {
            fields.finish(|name| {
                let hint = "each rule has a strategy of its own";
                STRATEGY_FIELDS.contains(&name).then(|| hint.to_owned())
            });
            rules(&list)
        }
        None => rule(&fields, Some(vec![Class::ALL.to_owned()])).map(|rule| vec![rule]),
    };
    Some(Policy { rules: rules?, non_retryable: never? })
}

const STRATEGY_FIELDS: [&str; 9] = [
    "strategy",
    "maxRetryCount",
    "delayInterval",
    "minimumInterval",
    "maximumInterval",
    "base",
    "rate",
    "maxDelay",
    "jitter",
];

fn rules(list: &Field<'_>) -> Option<Vec<PolicyRule>> {
    let elements = list.elements()?;
    if elements.is_empty() {
        let found = list.report(Rule::EmptyValue, "`rules` must not be empty");
        list.cx.report(found.hint("write `retry: none` for no retries"));
    }
    let mut rules: Vec<Option<PolicyRule>> = Vec::new();
    for element in elements {
        let Some(fields) = element.settings("a rule") else {
            rules.push(None);
            continue;
        };
        let names = fields.require("errors").and_then(|field| {
            let names = errors(&field)?;
            warn_of_unreachable(&field, &names, &rules);
            Some(names)
        });
        rules.push(rule(&fields, names));
    }
    rules.into_iter().collect()
}

/// An earlier rule that takes every error leaves nothing to this one.
fn warn_of_unreachable(field: &Field<'_>, names: &[String], earlier: &[Option<PolicyRule>]) {
    let taken = |name: &String| {
        let mut earlier = earlier.iter().flatten().flat_map(|rule| &rule.errors);
        earlier.any(|pattern| pattern == name || pattern == Class::ALL)
    };
    if let Some(name) = names.iter().find(|name| taken(name)) {
        let message = format!("this rule never sees `{name}`: an earlier one takes it");
        let found = field.report(Rule::UnreachableRule, message);
        field.cx.report(found.hint("put the rule with the narrower names first"));
    }
}

fn errors(field: &Field<'_>) -> Option<Vec<String>> {
    let elements = field.elements()?;
    if elements.is_empty() {
        field
            .cx
            .report(field.report(Rule::EmptyValue, format!("`{}` must not be empty", field.name)));
        return None;
    }
    // Each is read, so that each is reported.
    let names: Vec<Option<String>> = elements.iter().map(error).collect();
    names.into_iter().collect()
}

fn error(field: &Field<'_>) -> Option<String> {
    let name = field.plain()?;
    if name.starts_with("Error.") && !name.ends_with('*') && !Class::NAMES.contains(&name) {
        field.word(&Class::NAMES.map(|name| (name, ())))?;
    }
    let stem = name.strip_suffix(".*").unwrap_or(name);
    if stem.contains('*') || stem.is_empty() {
        let found = field.report(Rule::UnknownValue, format!("invalid error name `{name}`"));
        field.cx.report(
            found.hint("`*` stands only behind a dot at the end; `Error.ALL` is any error"),
        );
        return None;
    }
    Some(name.to_owned())
}

#[derive(Clone, Copy, PartialEq)]
enum Strategy {
    Fixed,
    Azure,
    Exponential,
}

const STRATEGIES: &[(&str, Strategy)] = &[
    ("fixedDelay", Strategy::Fixed),
    ("exponentialBackoff", Strategy::Azure),
    ("exponential", Strategy::Exponential),
];

fn rule(fields: &Fields<'_>, errors: Option<Vec<String>>) -> Option<PolicyRule> {
    let Some(strategy) = fields.get("strategy") else {
        let hint = "expected one of fixedDelay, exponentialBackoff, exponential";
        fields.cx.report(fields.missing(&["strategy"]).hint(hint));
        for name in STRATEGY_FIELDS {
            fields.get(name);
        }
        fields.finish_plain();
        return None;
    };
    let retries_max = fields.require("maxRetryCount").and_then(|field| retries(&field));
    let strategy = strategy.word(STRATEGIES)?;
    let delay = match strategy {
        Strategy::Fixed => fixed(fields),
        Strategy::Azure => azure(fields),
        Strategy::Exponential => exponential(fields),
    };
    fields.finish(|name| {
        STRATEGY_FIELDS.contains(&name).then(|| format!("`{name}` is of another strategy"))
    });
    Some(PolicyRule { errors: errors?, retries_max: retries_max?, delay: delay? })
}

/// Retries, not attempts; -1 is without end.
fn retries(field: &Field<'_>) -> Option<Option<u32>> {
    let value = field.integer(-1..=i64::from(u32::MAX))?;
    Some(u32::try_from(value).ok())
}

fn fixed(fields: &Fields<'_>) -> Option<Delay> {
    Some(Delay::Fixed { ms: fields.require("delayInterval")?.duration()? })
}

fn azure(fields: &Fields<'_>) -> Option<Delay> {
    let (min, max) = (fields.require("minimumInterval"), fields.require("maximumInterval"));
    let (min, max) =
        (min.map(|field| (field.duration(), field)), max.map(|field| field.duration()));
    let ((min_ms, min), max_ms) = (min?, max??);
    let min_ms = min_ms?;
    if min_ms > max_ms {
        let message = "`minimumInterval` must not be longer than `maximumInterval`";
        min.cx.report(min.report(Rule::OutOfRange, message));
        return None;
    }
    Some(Delay::Azure { min_ms, max_ms })
}

fn exponential(fields: &Fields<'_>) -> Option<Delay> {
    let base = fields.require("base").map(|field| (field.duration(), field));
    let rate = fields.get("rate").map_or(Some(2.0), |field| field.number(1.0..=1000.0));
    let max = fields.get("maxDelay").map(|field| field.duration());
    let jitter = fields.get("jitter").map_or(Some(Jitter::None), |field| jitter(&field));
    let (base_ms, field) = base?;
    let base_ms = base_ms?;
    let max_ms = match max {
        Some(max) => Some(max?),
        None => None,
    };
    if max_ms.is_some_and(|max| base_ms > max) {
        let message = "`base` must not be longer than `maxDelay`";
        field.cx.report(field.report(Rule::OutOfRange, message));
        return None;
    }
    Some(Delay::Exponential { base_ms, rate: rate?, max_ms, jitter: jitter? })
}

fn jitter(field: &Field<'_>) -> Option<Jitter> {
    if field.node.as_object().is_some() {
        let fields = field.settings("`jitter`")?;
        let part = fields.require("upTo").and_then(|field| field.number(0.0..=10.0));
        fields.finish_plain();
        return part.map(Jitter::UpTo);
    }
    let words = [
        ("none", Jitter::None),
        ("azure", Jitter::Azure),
        ("equal", Jitter::Equal),
        ("full", Jitter::Full),
    ];
    field.word(&words)
}
