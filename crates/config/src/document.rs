//! The files of a configuration: the entry, and what it includes.

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use everstep_source::document::{self, DocumentError, Node, Trouble};
use everstep_source::{Diagnostic, Format, Source, Span};

use crate::reader::{Cx, Field, File, Setting as _};
use crate::rule::Rule;
use crate::template;

/// Far more than anyone writes by hand.
const BYTES_MAX: usize = 1 << 20;
const FILES_MAX: usize = 100;

pub(crate) struct Document<'a> {
    pub(crate) file: File<'a>,
    pub(crate) root: Node,
}

impl Document<'_> {
    pub(crate) fn field(&self) -> Field<'_> {
        Field::root(&self.file, self.file.source.name(), &self.root)
    }
}

/// The entry and all that it includes, each once, in the order of their names.
pub(crate) fn all<'a>(cx: &'a Cx<'a>, entry: &Path) -> Vec<Document<'a>> {
    let mut documents: Vec<Document<'a>> = Vec::new();
    let mut seen = vec![normal(entry)];
    documents.extend(load(cx, entry, None));
    let mut next = 0;
    while next < documents.len() {
        let mut found = Vec::new();
        include(cx, &documents[next], &mut seen, &mut found);
        documents.extend(found);
        next += 1;
    }
    documents
}

fn include<'a>(
    cx: &'a Cx<'a>,
    document: &Document<'_>,
    seen: &mut Vec<PathBuf>,
    found: &mut Vec<Document<'a>>,
) {
    let root = document.field();
    let Some(fields) = root.node.as_object().and_then(|_| root.fields("the configuration")) else {
        return;
    };
    let Some(list) = fields.get("include") else { return };
    let files = match list.node.as_str() {
        Some(_) => vec![list],
        None => list.elements().unwrap_or_default(),
    };
    for file in files {
        let Some(path) = file.path() else { continue };
        if seen.contains(&normal(&path)) {
            let message = format!("`{}` is part of the configuration already", path.display());
            cx.report(file.report(Rule::DuplicateName, message).hint("include each file once"));
        } else if seen.len() >= FILES_MAX {
            let message = format!("a configuration has at most {FILES_MAX} files");
            cx.report(file.report(Rule::OutOfRange, message));
            return;
        } else {
            seen.push(normal(&path));
            found.extend(load(cx, &path, Some(&file)));
        }
    }
}

/// Without `.` and `..`, so that a file has one name.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(normal.components().next_back(), Some(Component::Normal(_))) =>
            {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// Reads a file that something names, or the entry.
pub(crate) fn load<'a>(
    cx: &'a Cx<'a>,
    path: &Path,
    named: Option<&Field<'_>>,
) -> Option<Document<'a>> {
    let read = |source: &Source| document::read(source.text(), source.format());
    let read_any = |source: &Source| {
        let read_template = document::read_template(source.text(), source.format());
        match read_template {
            Ok(root) if template::is_template(&root) => Ok(root),
            Err(error) if template::looks_like_one(source.text()) => Err(error),
            _ => read(source),
        }
    };
    let document = load_by(cx, path, named, read_any)?;
    if !template::is_template(&document.root) {
        return Some(document);
    }
    let root = template::translate(&document.file, &document.root);
    Some(Document { root, ..document })
}

/// Reads a file of Azure's, which may have comments.
pub(crate) fn load_azure<'a>(
    cx: &'a Cx<'a>,
    path: &Path,
    named: &Field<'_>,
) -> Option<Document<'a>> {
    let read = |source: &Source| match source.format() {
        Format::Json => document::read_with_comments(source.text()),
        format => document::read(source.text(), format),
    };
    load_by(cx, path, Some(named), read)
}

fn load_by<'a>(
    cx: &'a Cx<'a>,
    path: &Path,
    named: Option<&Field<'_>>,
    read: impl Fn(&Source) -> Result<Node, DocumentError>,
) -> Option<Document<'a>> {
    let text = text(cx, path, named)?;
    let source = Rc::new(Source::new(path.display().to_string(), text));
    let index = cx.sources.borrow().len();
    cx.sources.borrow_mut().push(source.clone());
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let file = File { cx, index, source, folder };
    let problem = if file.source.text().len() > BYTES_MAX {
        file.diagnostic(Rule::InvalidDocument, Span::default(), "the file is larger than 1 MiB")
    } else {
        match read(&file.source) {
            Ok(root) => return Some(Document { file, root }),
            Err(error) => {
                let hint = match error.trouble {
                    Trouble::TooDeep => Some("no setting is nested so deep".to_owned()),
                    Trouble::Comment | Trouble::Other => error.hint,
                };
                let found = file.diagnostic(Rule::InvalidDocument, error.span, error.message);
                Diagnostic { hint, ..found }
            }
        }
    };
    cx.report(problem);
    None
}

pub(crate) fn text(cx: &Cx<'_>, path: &Path, named: Option<&Field<'_>>) -> Option<String> {
    match (cx.loader.load(path), named) {
        (Ok(text), _) => Some(text),
        (Err(error), Some(field)) => {
            let message = format!("`{}` cannot be read: {error}", path.display());
            let found = field.report(Rule::UnreadableFile, message);
            cx.report(found.hint("paths are relative to the file that names them"));
            None
        }
        // The entry cannot be read: there is no file to point at.
        (Err(error), None) => {
            let source = Rc::new(Source::new(path.display().to_string(), ""));
            let file = File { cx, index: 0, source: source.clone(), folder: PathBuf::new() };
            cx.sources.borrow_mut().push(source);
            let message = format!("`{}` cannot be read: {error}", path.display());
            cx.report(file.diagnostic(Rule::UnreadableFile, Span::default(), message));
            None
        }
    }
}
