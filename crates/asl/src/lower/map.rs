//! Map states, inline and distributed.

use std::sync::Arc;

use super::expression::{self, Available};
use super::flow;
use super::machine;
use super::map_io::{item_reader, other_language, result_writer};
use super::names::AllNames;
use super::operand::{integer, number};
use super::reader::{Close as _, Field, Fields};
use super::retry;
use super::state::{Reading, transition};
use everstep_source::Diagnostic;
use everstep_source::document::Content;

use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::{
    ExecutionType, ItemBatcher, Items, Kind, Machine, Map, Mode, Payload, QueryLanguage, StateId,
    WorkflowType,
};
use crate::rule::Rule;

const CONCURRENCY_MAX: u64 = u32::MAX as u64;

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let fields = &reading.fields;
    let language = reading.language;
    let (processor, processor_field, mode) = processor(reading);
    if mode == Mode::Inline {
        refuse_distributed_fields(fields);
    }
    let (retry, catch) = retry::lower(reading);
    Kind::Map(Box::new(Map {
        items: items(reading),
        item_reader: fields.get("ItemReader").and_then(|field| item_reader(&field, language)),
        item_selector: item_selector(reading),
        item_batcher: fields.get("ItemBatcher").and_then(|field| item_batcher(&field, language)),
        processor: Arc::new(processor),
        processor_field,
        mode,
        label: fields.get("Label").and_then(|field| label(&field, reading.around.all)),
        max_concurrency: integer(
            fields,
            language,
            "MaxConcurrency",
            "MaxConcurrencyPath",
            0..=CONCURRENCY_MAX,
        ),
        tolerated_failure_count: integer(
            fields,
            language,
            "ToleratedFailureCount",
            "ToleratedFailureCountPath",
            0..=u64::MAX,
        ),
        tolerated_failure_percentage: number(
            fields,
            language,
            "ToleratedFailurePercentage",
            "ToleratedFailurePercentagePath",
            0.0..=100.0,
        ),
        result_writer: fields.get("ResultWriter").and_then(|field| result_writer(&field, language)),
        retry,
        catch,
        transition: transition(reading),
    }))
}

fn items(reading: &Reading<'_, '_>) -> Items {
    let fields = &reading.fields;
    if reading.is_jsonata() {
        let Some(field) = fields.get("Items") else {
            return Items::Whole;
        };
        if !matches!(
            field.node.content,
            Content::Array(_) | Content::String(_) | Content::Object(_)
        ) {
            field.cx.report(field.wrong_type("an array or a JSONata expression"));
        }
        return expression::jsonata_template_with(&field, Available::Nothing)
            .map_or(Items::Whole, Items::Jsonata);
    }
    let path = fields.get("ItemsPath").and_then(|field| expression::reference_path(&field));
    match path {
        Some(path) if path.as_str() != "$" => Items::Path(path),
        _ => Items::Whole,
    }
}

/// `ItemSelector`, or `Parameters` as it was called first.
fn item_selector(reading: &Reading<'_, '_>) -> Option<Payload> {
    let fields = &reading.fields;
    if reading.is_jsonata() {
        return expression::payload(&fields.get("ItemSelector")?, reading.language);
    }
    fields.exclude("ItemSelector", "Parameters");
    let field = fields.get("ItemSelector").or_else(|| fields.get("Parameters"))?;
    flow::effective_input(&field).map(Payload::JsonPath)
}

/// "A Map State MUST contain an object field named Iterator", called ItemProcessor today.
fn processor(reading: &Reading<'_, '_>) -> (Machine, &'static str, Mode) {
    let fields = &reading.fields;
    let (new, old) = (fields.get("ItemProcessor"), fields.get("Iterator"));
    let (field, name) = match (new, old) {
        (Some(field), None) => (field, "ItemProcessor"),
        (None, Some(field)) => (field, "Iterator"),
        (both, _) => {
            let (message, words) = match both {
                Some(_) => (
                    "a Map state has both `ItemProcessor` and `Iterator`",
                    "There should only be one",
                ),
                None => (
                    "a Map state needs the field `ItemProcessor`",
                    "This object should have only one",
                ),
            };
            fields.cx.report(
                Diagnostic::new(Rule::ProcessorRequired, fields.head, fields.at.place(), message)
                    .hint(
                        "ItemProcessor says what to do with each item; Iterator is its older name",
                    )
                    .service(format!("{words} of the following fields: [ItemProcessor, Iterator]")),
            );
            return (empty(), "ItemProcessor", Mode::Inline);
        }
    };
    let Some(inner) = field.fields("an item processor") else {
        return (empty(), name, Mode::Inline);
    };
    let mode = match inner.get("ProcessorConfig") {
        Some(config) => mode(&config),
        None => Mode::Inline,
    };
    let machine = machine::inner(&inner, reading.around);
    inner.close(machine::only_of_machine);
    (machine, name, mode)
}

fn empty() -> Machine {
    Machine {
        comment: None,
        timeout_seconds: None,
        query_language: QueryLanguage::default(),
        start_at: StateId(u32::MAX),
        states: Vec::new(),
    }
}

fn mode(field: &Field<'_>) -> Mode {
    let Some(fields) = field.fields("a processor configuration") else {
        return Mode::Inline;
    };
    let distributed = match fields.get("Mode") {
        Some(mode) => {
            let distributed = mode.one_of(&["INLINE", "DISTRIBUTED"]) == Some("DISTRIBUTED");
            if distributed && field.cx.options.workflow_type == WorkflowType::Express {
                field.cx.report(not_in_express(&mode));
            }
            distributed
        }
        None => false,
    };
    let execution_type = fields.get("ExecutionType");
    let mode = match (distributed, execution_type) {
        (true, Some(field)) => Mode::Distributed(match field.one_of(&["STANDARD", "EXPRESS"]) {
            Some("EXPRESS") => ExecutionType::Express,
            _ => ExecutionType::Standard,
        }),
        (true, None) => {
            fields.cx.report(fields.missing(&["ExecutionType"]));
            Mode::Distributed(ExecutionType::Standard)
        }
        (false, Some(field)) => {
            field.cx.report(only_distributed(&fields, &field, "ExecutionType"));
            Mode::Inline
        }
        (false, None) => Mode::Inline,
    };
    fields.close(|_| None);
    mode
}

fn not_in_express(mode: &Field<'_>) -> Diagnostic {
    mode.report(Rule::ExpressUnsupported, "an EXPRESS workflow cannot run a DISTRIBUTED Map")
        .hint("make the state machine STANDARD; the Map's children may be EXPRESS")
        .service(
            "The field 'Mode' with value 'DISTRIBUTED' is not supported inside 'EXPRESS' state machines",
        )
}

fn refuse_distributed_fields(fields: &Fields<'_>) {
    for name in ["ItemReader", "ItemBatcher", "ResultWriter", "Label"] {
        if let Some(field) = fields.get(name) {
            fields.cx.report(only_distributed(fields, &field, name));
        }
    }
}

fn only_distributed(fields: &Fields<'_>, field: &Field<'_>, name: &str) -> Diagnostic {
    Diagnostic::new(
        Rule::DistributedOnly,
        field.name_span,
        field.at.place(),
        format!("`{name}` needs a Map in DISTRIBUTED mode"),
    )
    .hint("set ProcessorConfig to {\"Mode\": \"DISTRIBUTED\", \"ExecutionType\": \"STANDARD\"}")
    .service(format!("Field '{name}' is not supported"))
    .service_location(Some(fields.at.place().service_location()))
}

fn item_batcher(field: &Field<'_>, language: QueryLanguage) -> Option<ItemBatcher> {
    let fields = field.fields("an item batcher")?;
    let batcher = ItemBatcher {
        max_items: integer(
            &fields,
            language,
            "MaxItemsPerBatch",
            "MaxItemsPerBatchPath",
            1..=u64::MAX,
        ),
        max_input_bytes: integer(
            &fields,
            language,
            "MaxInputBytesPerBatch",
            "MaxInputBytesPerBatchPath",
            1..=262_144,
        ),
        batch_input: fields
            .get("BatchInput")
            .and_then(|field| expression::payload(&field, language)),
    };
    let limits = [
        "MaxItemsPerBatch",
        "MaxItemsPerBatchPath",
        "MaxInputBytesPerBatch",
        "MaxInputBytesPerBatchPath",
    ];
    if !limits.iter().any(|name| fields.has(name)) {
        fields.cx.report(fields.missing(&["MaxItemsPerBatch"]));
    }
    fields.close(|name| other_language(name, language));
    Some(batcher)
}

const LABEL_CHARACTERS_MAX: usize = 40;

fn label(field: &Field<'_>, all: &AllNames<'_>) -> Option<String> {
    let text = field.string()?;
    let forbidden =
        |c: char| c.is_whitespace() || c.is_control() || "?*<>{}[]:;,\\|^~$#%&`\"".contains(c);
    let too_long = text.chars().count() > LABEL_CHARACTERS_MAX;
    let problem = if text.is_empty() || too_long {
        Some(format!("a label has 1 to {LABEL_CHARACTERS_MAX} characters"))
    } else {
        let bad = text.chars().find(|c| forbidden(*c));
        bad.map(|c| format!("a label cannot have the character `{c}`"))
    };
    let (reason, code) = match (problem, all.first_label(field.node)) {
        (Some(reason), _) => (reason, ServiceCode::InvalidLabelName),
        (None, Some(first)) => {
            let line = field.cx.source.position(first.span.start).line;
            let reason = format!("another Map has the label `{text}` already, on line {line}");
            (reason, ServiceCode::DuplicateLabelName)
        }
        (None, None) => return Some(text.to_owned()),
    };
    let words = match code {
        ServiceCode::DuplicateLabelName => format!("Duplicate Label name: {text}"),
        _ if too_long => format!(
            "Invalid Label name: Label '{text}' exceeds the {LABEL_CHARACTERS_MAX}-character limit \
             allowed by the service"
        ),
        _ => reason.clone(),
    };
    field.cx.report(
        field
            .report(Rule::InvalidLabel, reason)
            .hint("it becomes part of the ARN of the Map Run and its executions")
            .service(words)
            .service_code(code),
    );
    None
}
