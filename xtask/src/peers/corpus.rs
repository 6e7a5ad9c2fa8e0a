//! The definitions that everybody is asked about.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::Case;

/// Our test definitions, and the public machines where they are there.
pub(super) fn cases(machines: Option<&Path>) -> Result<Vec<Case>> {
    let own = crate::root().join("testdata/asl");
    let mut cases = read("valid test definitions", &own.join("valid"))?;
    cases.extend(read("invalid test definitions", &own.join("invalid"))?);
    if let Some(folder) = machines {
        cases.extend(read("public machines", folder)?);
    }
    Ok(cases)
}

/// The JSON files of a folder that hold an object; texts that are no JSON are left out, since not all of the others read texts.
fn read(source: &'static str, folder: &Path) -> Result<Vec<Case>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    let case = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        let mut definition: Value = serde_json::from_str(&text).ok().filter(Value::is_object)?;
        deploy(&mut definition, "");
        let name = path.file_stem()?.to_string_lossy().into_owned();
        Some(Case { source, kind: None, name, definition })
    };
    Ok(paths.into_iter().filter_map(case).collect())
}

const FUNCTION: &str = "arn:aws:lambda:us-east-1:123456789012:function:f";

/// Fills in `${…}` as a deployment does, since not all of the others know placeholders.
fn deploy(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => *text = filled(text, name == "Resource"),
        Value::Array(items) => items.iter_mut().for_each(|item| deploy(item, name)),
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| deploy(field, name));
        }
        _ => {}
    }
}

fn filled(text: &str, is_resource: bool) -> String {
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if is_resource && whole.is_some_and(|name| !name.contains('}')) {
        return FUNCTION.to_owned();
    }
    let mut parts = text.split("${");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => filled.extend([value_of(name), rest]),
            None => filled.extend(["${", part]),
        }
    }
    filled
}

fn value_of(placeholder: &str) -> &'static str {
    match placeholder {
        "AWS::Partition" => "aws",
        "AWS::Region" => "us-east-1",
        "AWS::AccountId" => "123456789012",
        _ => "x",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_in() {
        let check = |text, is_resource, expected: &str| {
            assert_eq!(filled(text, is_resource), expected, "{text}");
        };
        check("${Function}", true, FUNCTION);
        check("${Function}", false, "x");
        check("arn:${AWS::Partition}:states:::${S}:invoke", true, "arn:aws:states:::x:invoke");
        check("${Function", true, "${Function");
        check("plain", true, "plain");
    }
}
