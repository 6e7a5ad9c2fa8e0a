//! Map states, inline and distributed.

use super::expression::{self, Available};
use super::flow;
use super::machine;
use super::names::AllNames;
use super::operand::{integer, number};
use super::reader::{Field, Fields, Misplaced};
use super::retry;
use super::state::{Reading, transition};
use crate::diagnostic::{Diagnostic, ServiceCode};
use crate::document::Content;
use crate::model::{
    ExecutionType, ItemBatcher, ItemReader, Items, Kind, Machine, Map, Mode, Pattern, Payload,
    QueryLanguage, ReaderConfig, Resource, ResultWriter, StateId, WorkflowType,
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
        processor,
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
            field.wrong_type("an array or a JSONata expression");
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
    flow::template_object(&field).map(Payload::JsonPath)
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
                Diagnostic::new(Rule::ProcessorRequired, fields.head(), fields.at.place(), message)
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
    inner.finish(machine::only_of_machine);
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

fn mode(field: &Field<'_, '_>) -> Mode {
    let Some(fields) = field.fields("a processor configuration") else {
        return Mode::Inline;
    };
    let distributed = match fields.get("Mode") {
        Some(mode) => {
            let distributed = mode.word(&["INLINE", "DISTRIBUTED"]) == Some("DISTRIBUTED");
            if distributed && field.cx.options.workflow_type == WorkflowType::Express {
                field.cx.report(not_in_express(&mode));
            }
            distributed
        }
        None => false,
    };
    let execution_type = fields.get("ExecutionType");
    let mode = match (distributed, execution_type) {
        (true, Some(field)) => Mode::Distributed(match field.word(&["STANDARD", "EXPRESS"]) {
            Some("EXPRESS") => ExecutionType::Express,
            _ => ExecutionType::Standard,
        }),
        (true, None) => {
            fields.missing(&["ExecutionType"]);
            Mode::Distributed(ExecutionType::Standard)
        }
        (false, Some(field)) => {
            field.cx.report(only_distributed(&fields, &field, "ExecutionType"));
            Mode::Inline
        }
        (false, None) => Mode::Inline,
    };
    fields.finish(|_| None);
    mode
}

fn not_in_express(mode: &Field<'_, '_>) -> Diagnostic {
    mode.report(Rule::ExpressUnsupported, "an EXPRESS workflow cannot run a DISTRIBUTED Map")
        .hint("make the state machine STANDARD; the Map's children may be EXPRESS")
        .service(
            "The field 'Mode' with value 'DISTRIBUTED' is not supported inside 'EXPRESS' state machines",
        )
}

fn refuse_distributed_fields(fields: &Fields<'_, '_>) {
    for name in ["ItemReader", "ItemBatcher", "ResultWriter", "Label"] {
        if let Some(field) = fields.get(name) {
            fields.cx.report(only_distributed(fields, &field, name));
        }
    }
}

fn only_distributed(fields: &Fields<'_, '_>, field: &Field<'_, '_>, name: &str) -> Diagnostic {
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

/// `Arguments` in JSONata, `Parameters` in JSONPath.
fn arguments(fields: &Fields<'_, '_>, language: QueryLanguage) -> Option<Payload> {
    let name = match language {
        QueryLanguage::JsonPath => "Parameters",
        QueryLanguage::Jsonata => "Arguments",
    };
    expression::payload(&fields.get(name)?, language)
}

fn item_reader(field: &Field<'_, '_>, language: QueryLanguage) -> Option<ItemReader> {
    let fields = field.fields("an item reader")?;
    let resource = fields.require("Resource").and_then(|field| {
        check_s3(&field, &["getObject", "listObjectsV2"]);
        field.string()
    });
    let reader = ItemReader {
        resource: resource.unwrap_or_default().to_owned(),
        arguments: arguments(&fields, language),
        config: fields
            .get("ReaderConfig")
            .and_then(|field| reader_config(&field, language))
            .unwrap_or_default(),
    };
    fields.finish(|name| other_language(name, language));
    Some(reader)
}

/// A Map reads from and writes to S3, by few actions.
fn check_s3(field: &Field<'_, '_>, actions: &[&str]) {
    let Some(text) = field.node.as_str() else { return };
    let known = match Resource::classify(text) {
        Resource::Service { service, action, sdk: false, pattern, .. } => {
            service == "s3"
                && actions.contains(&&*action)
                && pattern == Pattern::RequestResponse
        }
        Resource::Placeholder(_) => true,
        _ => false,
    };
    if !known {
        let list = actions.iter().map(|action| format!("arn:aws:states:::s3:{action}"));
        field.cx.report(
            field
                .report(Rule::UnknownIntegration, format!("a Map cannot use `{text}` here"))
                .hint(format!("it can use {}", list.collect::<Vec<_>>().join(" or ")))
                .service("The field 'Resource' does not match any of the allowed values"),
        );
    }
}

fn reader_config(field: &Field<'_, '_>, language: QueryLanguage) -> Option<ReaderConfig> {
    let fields = field.fields("a reader configuration")?;
    let word = |name, allowed| {
        fields.get(name).and_then(|field: Field<'_, '_>| field.word(allowed)).map(str::to_owned)
    };
    let config = ReaderConfig {
        input_type: word("InputType", &["CSV", "JSON", "JSONL", "PARQUET", "MANIFEST"]),
        transformation: word("Transformation", &["NONE", "LOAD_AND_FLATTEN"]),
        csv_header_location: word("CSVHeaderLocation", &["FIRST_ROW", "GIVEN"]),
        csv_headers: fields.get("CSVHeaders").and_then(|field| strings(&field)),
        csv_delimiter: word("CSVDelimiter", &["COMMA", "PIPE", "SEMICOLON", "SPACE", "TAB"]),
        max_items: integer(&fields, language, "MaxItems", "MaxItemsPath", 0..=100_000_000),
        items_pointer: fields.string("ItemsPointer").map(str::to_owned),
        manifest_type: word("ManifestType", &["S3_INVENTORY", "ATHENA_DATA"]),
    };
    check_csv(&fields, &config);
    fields.finish(|name| other_language(name, language));
    Some(config)
}

/// Rows need names: from the first row, or given here.
fn check_csv(fields: &Fields<'_, '_>, config: &ReaderConfig) {
    let is_csv = config.input_type.as_deref() == Some("CSV");
    let location = fields.get("CSVHeaderLocation");
    if is_csv && location.is_none() {
        fields.cx.report(
            Diagnostic::new(
                Rule::RequiredField,
                fields.head(),
                fields.at.place(),
                "the reader of a CSV file needs the field `CSVHeaderLocation`",
            )
            .hint("FIRST_ROW if the file names its columns, or GIVEN with `CSVHeaders`")
            .service("The field 'CSVHeaderLocation' is required"),
        );
    }
    if config.csv_header_location.as_deref() == Some("GIVEN") && !fields.has("CSVHeaders") {
        fields.missing(&["CSVHeaders"]);
    }
    if let (Some("JSON" | "JSONL"), Some(location)) = (config.input_type.as_deref(), location) {
        let around = fields.at.place().service_location();
        fields.cx.report(
            Diagnostic::new(
                Rule::MisplacedField,
                location.name_span,
                location.at.place(),
                "the reader of a JSON file cannot have the field `CSVHeaderLocation`",
            )
            .hint("remove it, or set InputType to CSV")
            .service("Field 'CSVHeaderLocation' is not supported")
            .service_location(Some(around)),
        );
    }
}

fn strings(field: &Field<'_, '_>) -> Option<Vec<String>> {
    let elements = field.array()?;
    Some(field.elements(elements).filter_map(|e| e.string().map(str::to_owned)).collect())
}

fn item_batcher(field: &Field<'_, '_>, language: QueryLanguage) -> Option<ItemBatcher> {
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
        fields.missing(&["MaxItemsPerBatch"]);
    }
    fields.finish(|name| other_language(name, language));
    Some(batcher)
}

fn result_writer(field: &Field<'_, '_>, language: QueryLanguage) -> Option<ResultWriter> {
    let fields = field.fields("a result writer")?;
    let (mut transformation, mut output_type) = (None, None);
    if let Some(config) = fields.get("WriterConfig") {
        let inner = config.fields("a writer configuration")?;
        transformation =
            inner.get("Transformation").and_then(|f| f.word(&["NONE", "COMPACT", "FLATTEN"]));
        output_type = inner.get("OutputType").and_then(|f| f.word(&["JSON", "JSONL"]));
        inner.finish(|_| None);
    }
    let writer = ResultWriter {
        resource: fields.get("Resource").and_then(|field| {
            check_s3(&field, &["putObject"]);
            field.string().map(str::to_owned)
        }),
        arguments: arguments(&fields, language),
        transformation: transformation.map(str::to_owned),
        output_type: output_type.map(str::to_owned),
    };
    fields.finish(|name| other_language(name, language));
    Some(writer)
}

fn other_language(name: &str, language: QueryLanguage) -> Option<Misplaced> {
    Some(Misplaced::in_language(language, flow::of_other_language(name, language)?))
}

const LABEL_CHARACTERS_MAX: usize = 40;

fn label(field: &Field<'_, '_>, all: &AllNames<'_>) -> Option<String> {
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
