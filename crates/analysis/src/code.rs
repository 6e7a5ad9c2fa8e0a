//! Whether the code that a configuration names exists, as far as the file system shows.

use std::fs;
use std::path::{Path, PathBuf};

use everstep_config::model::{Function, Runtime};
use everstep_config::{Config, Rule};
use everstep_source::document::{self, Node};
use everstep_source::{Diagnostic, Place, Source, Span};

/// Problems of all functions, each in the file that has the function.
pub fn check(config: &Config, sources: &[Source]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (file, source) in sources.iter().enumerate() {
        let mut own =
            config.functions.iter().filter(|function| function.line.file == source.name());
        let Some(first) = own.next() else { continue };
        let Ok(root) = document::read(source.text(), source.format()) else { continue };
        let written = Written { file, root: &root };
        found.extend(std::iter::once(first).chain(own).filter_map(|function| {
            missing_folder(function, &written).or_else(|| missing_module(function, &written))
        }));
    }
    found
}

/// A file of the configuration, as it is written.
struct Written<'w> {
    file: usize,
    root: &'w Node,
}

impl Written<'_> {
    /// At a setting of a function, or at its name.
    fn report(
        &self,
        rule: Rule,
        at: (&Function, &str),
        message: String,
        hint: String,
    ) -> Diagnostic {
        let (function, setting) = at;
        let function = Place::root().field("functions").field(&function.name);
        let own = function.field(setting);
        let (place, span) = match (self.root.at(&own.pointer), self.root.at(&function.pointer)) {
            (Some(found), _) => (own, found.node.span),
            (None, Some(found)) => (function, found.name_span.unwrap_or(found.node.span)),
            (None, None) => (function, Span::default()),
        };
        Diagnostic::new(rule, span, place, message).hint(hint).in_file(self.file)
    }
}

fn missing_folder(function: &Function, written: &Written<'_>) -> Option<Diagnostic> {
    let folder = &function.code_dir;
    if function.runtime == Runtime::Http || function.inline_code.is_some() || folder.is_dir() {
        return None;
    }
    let what = if folder.exists() { "is not a folder" } else { "does not exist" };
    let message = format!("the code folder `{}` {what}", folder.display());
    let hint = "paths are relative to the configuration file".to_owned();
    Some(written.report(Rule::UnreadableFile, (function, "codeUri"), message, hint))
}

/// Searched for as the runtime clients do. Installed packages are not visible here, so this is only a warning.
fn missing_module(function: &Function, written: &Written<'_>) -> Option<Diagnostic> {
    let handler = function.handler.as_deref().filter(|_| function.inline_code.is_none())?;
    let looked_for = match function.runtime {
        Runtime::Python { .. } => python(function, handler)?,
        Runtime::Node { .. } => node(&function.code_dir, handler)?,
        _ => return None,
    };
    let folder = function.code_dir.display();
    let message = format!("`{looked_for}` not found in `{folder}` (handler `{handler}`)");
    let hint =
        "a handler has the form FILE.FUNCTION or FOLDER/FILE.FUNCTION, relative to `codeUri`"
            .to_owned();
    Some(written.report(Rule::InvalidHandler, (function, "handler"), message, hint))
}

/// `src/app.handler` and `src.app.handler` are in `src/app.py`, or in a package. What was looked for, if it is not
/// there.
fn python(function: &Function, handler: &str) -> Option<String> {
    let elsewhere = function.env.iter().any(|(name, _)| name == "PYTHONPATH");
    let (module, _) = handler.rsplit_once('.').filter(|_| !elsewhere)?;
    let module = module.replace('.', "/");
    let (folder, name) = module.rsplit_once('/').unwrap_or(("", &module));
    if name.is_empty() {
        return None;
    }
    let folder = function.code_dir.join(folder);
    let there = folder.join(name).join("__init__.py").is_file() || is_module(&folder, name);
    (!there).then(|| format!("{module}.py"))
}

/// As source, as bytecode, or as an extension: `app.py`, `app.pyc`, `app.cpython-311-x86_64-linux-gnu.so`.
fn is_module(folder: &Path, name: &str) -> bool {
    if folder.join(format!("{name}.py")).is_file() {
        return true;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).any(|file| {
        let ending = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        ending.is_some_and(|ending| ending == "pyc" || ending.ends_with("so"))
    })
}

/// `src/index.handler` is in `src/index.js`; else, a package of that name is looked for as Node.js does.
fn node(code: &Path, handler: &str) -> Option<String> {
    let (folder, last) = match handler.rsplit_once('/') {
        Some((folder, last)) => (code.join(folder), last),
        None => (code.to_owned(), handler),
    };
    let (name, _) = last.split_once('.').filter(|(name, _)| !name.is_empty())?;
    let there = ["", ".js", ".mjs", ".cjs"]
        .iter()
        .any(|ending| folder.join(format!("{name}{ending}")).exists());
    let packages = |folder: &Path| folder.join("node_modules").join(name).exists();
    let code = std::path::absolute(code).unwrap_or_else(|_| PathBuf::from(code));
    if there || code.ancestors().any(packages) {
        return None;
    }
    let path = handler.strip_suffix(last).unwrap_or_default();
    Some(format!("{path}{name}.js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(runtime: &str, handler: &str, files: &[&str], expected: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let yaml = format!("functions:\n  f: {{ runtime: {runtime}, handler: {handler} }}\n");
        let entry = folder.path().join("everstep.yaml");
        let parsed = everstep_config::read(
            &entry,
            &mut |_| Ok(yaml.clone()),
            &|_| None,
            &Default::default(),
        );
        let found = check(parsed.config().unwrap(), &parsed.sources);
        let seen = found.first().map(|found| found.message.split('`').nth(1).unwrap());
        assert_eq!(seen, expected, "{runtime} {handler} in {files:?}");
    }

    #[test]
    fn python_finds_files_and_packages() {
        let check = |handler, files: &[&str], expected| {
            check_with("python3.11", handler, files, expected);
        };
        check("app.handler", &["app.py"], None);
        check("app.handler", &["app/__init__.py"], None);
        check("app.handler", &["app.cpython-311-x86_64-linux-gnu.so"], None);
        check("src/app.handler", &["src/app.py"], None);
        check("src.app.handler", &["src/app.py"], None);
        check("app.handler", &["apps.py", "app/other.py", "app.js"], Some("app.py"));
        check("src.app.handler", &["app.py"], Some("src/app.py"));
        // Told when the configuration is read.
        check("app", &[], None);
    }

    #[test]
    fn node_finds_files_and_packages() {
        let check = |handler, files: &[&str], expected| {
            check_with("nodejs20.x", handler, files, expected);
        };
        check("index.handler", &["index.js"], None);
        check("index.some.handler", &["index.mjs"], None);
        check("src/index.handler", &["src/index.cjs"], None);
        check("pack.handler", &["node_modules/pack/index.js"], None);
        check("index.handler", &["index.py", "src/index.js"], Some("index.js"));
        check("src/index.handler", &["index.js"], Some("src/index.js"));
    }
}
