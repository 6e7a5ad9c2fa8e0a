//! Where a distributed Map gets its items from, and where it puts what came of them.

use super::expression;
use super::flow;
use super::operand::integer;
use super::reader::{Close as _, Field, Fields, Misplaced};
use super::request;
use crate::diagnostic::InServiceWords as _;
use crate::model::{
    ItemReader, Pattern, Payload, QueryLanguage, ReaderConfig, Resource, ResultWriter,
};
use crate::rule::Rule;
use everstep_source::Diagnostic;

/// `Arguments` in JSONata, `Parameters` in JSONPath.
fn arguments(fields: &Fields<'_>, language: QueryLanguage) -> Option<Payload> {
    expression::payload(&fields.get(request::field(language))?, language)
}

pub(super) fn item_reader(field: &Field<'_>, language: QueryLanguage) -> Option<ItemReader> {
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
    fields.close(|name| other_language(name, language));
    Some(reader)
}

/// A Map reads from and writes to S3, by few actions.
fn check_s3(field: &Field<'_>, actions: &[&str]) {
    let Some(text) = field.node.as_str() else { return };
    let known = match Resource::classify(text) {
        Resource::Service { service, action, sdk: false, pattern, .. } => {
            service == "s3" && actions.contains(&&*action) && pattern == Pattern::RequestResponse
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

fn reader_config(field: &Field<'_>, language: QueryLanguage) -> Option<ReaderConfig> {
    let fields = field.fields("a reader configuration")?;
    let word = |name, allowed| {
        fields.get(name).and_then(|field: Field<'_>| field.one_of(allowed)).map(str::to_owned)
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
    fields.close(|name| other_language(name, language));
    Some(config)
}

/// Rows need names: from the first row, or given here.
fn check_csv(fields: &Fields<'_>, config: &ReaderConfig) {
    let is_csv = config.input_type.as_deref() == Some("CSV");
    let location = fields.get("CSVHeaderLocation");
    if is_csv && location.is_none() {
        fields.cx.report(
            Diagnostic::new(
                Rule::RequiredField,
                fields.head,
                fields.at.place(),
                "the reader of a CSV file needs the field `CSVHeaderLocation`",
            )
            .hint("FIRST_ROW if the file names its columns, or GIVEN with `CSVHeaders`")
            .service("The field 'CSVHeaderLocation' is required"),
        );
    }
    if config.csv_header_location.as_deref() == Some("GIVEN") && !fields.has("CSVHeaders") {
        fields.cx.report(fields.missing(&["CSVHeaders"]));
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

fn strings(field: &Field<'_>) -> Option<Vec<String>> {
    let elements = field.elements()?;
    Some(elements.iter().filter_map(|e| e.string().map(str::to_owned)).collect())
}

pub(super) fn result_writer(field: &Field<'_>, language: QueryLanguage) -> Option<ResultWriter> {
    let fields = field.fields("a result writer")?;
    check_writer(&fields, language);
    let (mut transformation, mut output_type) = (None, None);
    if let Some(config) = fields.get("WriterConfig") {
        let inner = config.fields("a writer configuration")?;
        inner.require("OutputType");
        transformation =
            inner.get("Transformation").and_then(|f| f.one_of(&["NONE", "COMPACT", "FLATTEN"]));
        output_type = inner.get("OutputType").and_then(|f| f.one_of(&["JSON", "JSONL"]));
        inner.close(|_| None);
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
    fields.close(|name| other_language(name, language));
    Some(writer)
}

/// What a writer formats, where it writes, or both; where it writes needs two fields.
fn check_writer(fields: &Fields<'_>, language: QueryLanguage) {
    let place = ["Resource", request::field(language)];
    let missing: Vec<&str> = place.into_iter().filter(|name| !fields.has(name)).collect();
    match missing.len() {
        1 => fields.cx.report(fields.missing(&missing)),
        2 if !fields.has("WriterConfig") => fields
            .cx
            .report(fields.missing(&missing).hint("or WriterConfig, to format the results only")),
        _ => {}
    }
}

pub(super) fn other_language(name: &str, language: QueryLanguage) -> Option<Misplaced> {
    Some(Misplaced::in_language(language, flow::of_other_language(name, language)?))
}
