//! What runs a function, and what it needs for that.

use std::path::PathBuf;

use everstep_source::nearest;

use crate::model::Runtime;
use crate::reader::{Field, Fields, Setting};
use crate::rule::Rule;
use crate::text::Text;
use crate::url;

pub(crate) struct Code {
    pub(crate) runtime: Runtime,
    pub(crate) handler: Option<String>,
    pub(crate) dir: PathBuf,
    pub(crate) inline: Option<String>,
    pub(crate) command: Vec<Text>,
    pub(crate) url: Option<Text>,
}

const EXAMPLES: [&str; 5] = ["python3.11", "nodejs20.x", "provided", "command", "http"];

pub(crate) fn code(fields: &Fields<'_>) -> Option<Code> {
    let runtime = match fields.get("runtime") {
        Some(field) => runtime(&field),
        None => {
            let hint = format!("expected one of {}", EXAMPLES.join(", "));
            fields.cx.report(fields.missing(&["runtime"]).hint(hint));
            None
        }
    };
    let handler = fields.get("handler").map(|field| (handler(&field), field));
    let dir = fields.get("codeUri").map_or(Some(fields.cx.folder.clone()), |field| field.path());
    let dir = dir.map(|dir| if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir });
    fields.exclude("codeUri", "inlineCode");
    let inline = fields.get("inlineCode");
    let command = fields.get("command").map(|field| (command(&field), field));
    let url = fields.get("url").map(|field| (service(&field), field));
    let runtime = runtime?;
    let needs = Needs::of(&runtime);
    if let Some(field) = &inline
        && !matches!(runtime, Runtime::Python { .. } | Runtime::Node { .. })
    {
        let message = "only functions in Python and Node.js can have `inlineCode`";
        field.cx.report(field.at_name(Rule::MisplacedField, message));
    }
    let owner = &fields.owner;
    for (need, field, name) in [
        (needs.handler, handler.as_ref().map(|(_, field)| field), "handler"),
        (needs.command, command.as_ref().map(|(_, field)| field), "command"),
        (needs.url, url.as_ref().map(|(_, field)| field), "url"),
    ] {
        match (need, field) {
            (Need::Must, None) => {
                fields.cx.report(fields.missing(&[name]).hint("its runtime needs it"));
            }
            (Need::Never, Some(field)) => {
                let message = format!("{owner} cannot have `{name}` with its runtime");
                let found = field.at_name(Rule::MisplacedField, message);
                field.cx.report(found.hint(needs.hint));
            }
            _ => {}
        }
    }
    if let (Need::Must, Some((Some(handler), field))) = (needs.handler, &handler) {
        warn_of_handler(field, handler);
    }
    Some(Code {
        runtime,
        handler: handler.and_then(|(handler, _)| handler),
        dir: dir?,
        inline: inline.and_then(|field| field.string().map(str::to_owned)),
        command: command.and_then(|(command, _)| command).unwrap_or_default(),
        url: url.and_then(|(url, _)| url),
    })
}

#[derive(Clone, Copy)]
enum Need {
    Must,
    May,
    Never,
}

struct Needs {
    handler: Need,
    command: Need,
    url: Need,
    hint: &'static str,
}

impl Needs {
    fn of(runtime: &Runtime) -> Self {
        let (handler, command, url, hint) = match runtime {
            Runtime::Python { .. } | Runtime::Node { .. } => (
                Need::Must,
                Need::Never,
                Need::Never,
                "Python and Node.js run `handler`; for a program, say `runtime: command`",
            ),
            Runtime::Provided => (
                Need::May,
                Need::May,
                Need::Never,
                "a program that speaks the Runtime API is `bootstrap` in codeUri, or `command`",
            ),
            Runtime::Command => {
                (Need::Never, Need::Must, Need::Never, "a command has only `command`")
            }
            Runtime::Http => (Need::Never, Need::Never, Need::Must, "a service has only `url`"),
        };
        Self { handler, command, url, hint }
    }
}

fn runtime(field: &Field<'_>) -> Option<Runtime> {
    let name = field.plain()?;
    let runtime = match name {
        "command" => Some(Runtime::Command),
        "http" => Some(Runtime::Http),
        "provided" | "provided.al2" | "provided.al2023" | "binary" => Some(Runtime::Provided),
        _ => python(name).or_else(|| node(name)),
    };
    if runtime.is_none() {
        let other = ["java", "dotnet", "ruby", "go1"].iter().any(|other| name.starts_with(other));
        let found = field.report(Rule::UnknownValue, format!("there is no runtime `{name}`"));
        field.cx.report(if other {
            found.hint("for other languages, say `runtime: provided` with a program that speaks the Lambda Runtime API")
        } else {
            let hint = format!("expected one of {}", EXAMPLES.join(", "));
            found.hint(hint).did_you_mean(nearest(name, EXAMPLES))
        });
    }
    runtime
}

/// `python3`, `python3.11`
fn python(name: &str) -> Option<Runtime> {
    let version = name.strip_prefix("python")?;
    let minor = version.strip_prefix('3')?;
    let valid = minor.is_empty() || minor.strip_prefix('.').is_some_and(is_number);
    valid.then(|| Runtime::Python { version: version.to_owned() })
}

/// `nodejs20.x`, `nodejs20`
fn node(name: &str) -> Option<Runtime> {
    let version = name.strip_prefix("nodejs")?;
    let version = version.strip_suffix(".x").unwrap_or(version);
    is_number(version).then(|| Runtime::Node { version: version.to_owned() })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `file.function`
fn handler(field: &Field<'_>) -> Option<String> {
    Some(field.plain()?.to_owned())
}

/// What the clients of both languages refuse when a process starts.
fn warn_of_handler(field: &Field<'_>, handler: &str) {
    let last = handler.rsplit('/').next().unwrap_or_default();
    let named = last.split_once('.').is_some_and(|(module, function)| {
        !module.is_empty() && !function.is_empty() && !function.ends_with('.')
    });
    if !named {
        let message = format!("`{handler}` names no function of a file");
        let found = field.report(Rule::InvalidHandler, message);
        let file = if last.contains('.') || last.is_empty() { "app" } else { last };
        field.cx.report(found.hint(format!("write FILE.FUNCTION, such as {file}.handler")));
    }
}

/// A program and its arguments, or a line for the shell.
fn command(field: &Field<'_>) -> Option<Vec<Text>> {
    if field.node.as_str().is_some() {
        let line = field.text()?;
        if line.trim().is_empty() {
            field.cx.report(field.report(Rule::EmptyValue, "`command` must not be empty"));
            return None;
        }
        return Some(vec![Text::from("sh"), Text::from("-c"), line]);
    }
    let elements = field.elements()?;
    if elements.is_empty() {
        field.cx.report(field.report(Rule::EmptyValue, "`command` must not be empty"));
        return None;
    }
    let words: Vec<Option<Text>> = elements.iter().map(Setting::text).collect();
    words.into_iter().collect()
}

fn service(field: &Field<'_>) -> Option<Text> {
    url::checked(field, field.text()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: Option<&str>) {
        let version = match python(name).or_else(|| node(name)) {
            Some(Runtime::Python { version } | Runtime::Node { version }) => Some(version),
            _ => None,
        };
        assert_eq!(version.as_deref(), expected, "{name}");
    }

    #[test]
    fn runtimes_are_named_as_lambda_names_them() {
        check("python3.11", Some("3.11"));
        check("python3", Some("3"));
        check("nodejs20.x", Some("20"));
        check("nodejs22", Some("22"));
        for wrong in
            ["python2.7", "python", "python3.", "python3.x", "nodejs", "nodejs.x", "java21"]
        {
            check(wrong, None);
        }
    }
}
