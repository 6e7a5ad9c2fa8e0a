//! Reads definitions: files, and `-` for standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use everstep_asl::{Dialect, Machine, Options, Parsed, Source, WorkflowType};

use crate::exit::Exit;
use crate::output::Stream;
use crate::render::{self, Checked};

/// The name of standard input in messages.
const STDIN_NAME: &str = "<stdin>";

/// Far more than a definition can have: the parser reports a text that is too long, but an endless device
/// must not fill the memory.
const READ_BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
pub(crate) enum Type {
    #[default]
    Standard,
    Express,
}

impl Type {
    pub(crate) fn options(self, dialect: Dialect) -> Options {
        let workflow_type = match self {
            Self::Standard => WorkflowType::Standard,
            Self::Express => WorkflowType::Express,
        };
        Options { workflow_type, dialect, ..Options::default() }
    }
}

/// Reads a definition's text.
pub(crate) fn read(name: &str) -> anyhow::Result<Source> {
    if name == "-" {
        return text(STDIN_NAME, drain(io::stdin().lock(), STDIN_NAME)?);
    }
    let path = Path::new(name);
    if path.is_dir() {
        bail!("`{name}` is a directory; specify files, such as {}", example(path));
    }
    let file = fs::File::open(path).map_err(|error| unreadable(name, &error))?;
    text(name, drain(file, name)?)
}

fn example(directory: &Path) -> String {
    format!("`{}`", directory.join("*.asl.json").display())
}

fn unreadable(name: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            anyhow::anyhow!("file `{name}` not found")
        }
        _ => anyhow::anyhow!("cannot read `{name}`: {error}"),
    }
}

fn drain(reader: impl io::Read, name: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = reader.take(READ_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > READ_BYTES_MAX {
        bail!("`{name}` is larger than 64 MiB; a definition can have at most 1 MiB");
    }
    Ok(bytes)
}

fn text(name: &str, bytes: Vec<u8>) -> anyhow::Result<Source> {
    String::from_utf8(bytes).map(|text| Source::new(name, text)).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        anyhow::anyhow!("`{name}` is not UTF-8 text (byte {at}, line {line}); save it as UTF-8")
    })
}

/// Reads and checks a definition. If it has errors, they are printed on standard error and there is no machine.
pub(crate) fn load(
    name: &str,
    dialect: Dialect,
) -> anyhow::Result<Result<(Source, Machine), Exit>> {
    let source = read(name)?;
    let parsed = everstep_asl::parse(&source, &Options { dialect, ..Options::default() });
    if parsed.has_errors() {
        return refuse(source, parsed).map(Err);
    }
    let machine = parsed.into_machine().context("a definition without errors has no model")?;
    Ok(Ok((source, machine)))
}

/// Whether the definition has errors in either dialect, which are printed on standard error. Which one applies only the
/// server knows.
pub(crate) fn refused(source: &Source, workflow_type: Type) -> anyhow::Result<bool> {
    let check = |dialect| everstep_asl::parse(source, &workflow_type.options(dialect));
    let parsed = check(Dialect::Spec);
    let errors = parsed.has_errors() && check(Dialect::Aws).has_errors();
    if errors {
        refuse(Source::new(source.name(), source.text()), parsed)?;
    }
    Ok(errors)
}

fn refuse(source: Source, parsed: Parsed) -> anyhow::Result<Exit> {
    let errors = parsed.diagnostics.into_iter().filter(|found| found.is_error()).collect();
    let checked = Checked { source, diagnostics: errors, omitted: parsed.omitted };
    Stream::Story.write(&render::text::problems(&checked, Stream::Story))?;
    Stream::Story.write(&format!("{}\n", render::summary(&[checked])))?;
    Ok(Exit::Problems)
}
