//! The comparison as tables: for the terminal, and for `docs/peers.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::Judged;
use super::disagreement::{Class, Side};
use super::install::PEERS;

const BEGIN: &str = "<!-- peers: written by `cargo xtask peers --write` -->\n";
const END: &str = "<!-- end of peers -->\n";

pub(super) fn markdown(judged: &[Judged], classes: &[Class<'_>]) -> String {
    let mut text = String::new();
    agreements(&mut text, judged);
    kinds(&mut text, judged);
    disagreements(&mut text, classes);
    text
}

/// How often a peer agrees, and how often only one side refuses.
#[derive(Default, Clone, Copy)]
struct Counts {
    agree: usize,
    ours: usize,
    theirs: usize,
}

impl Counts {
    fn add(&mut self, ours: bool, theirs: bool) {
        match (ours, theirs) {
            (true, false) => self.ours += 1,
            (false, true) => self.theirs += 1,
            _ => self.agree += 1,
        }
    }
}

fn agreements(text: &mut String, judged: &[Judged]) {
    let mut sources: Vec<(&str, usize, [Counts; PEERS.len()])> = Vec::new();
    for one in judged {
        if sources.last().is_none_or(|(source, ..)| *source != one.case.source) {
            sources.push((one.case.source, 0, Default::default()));
        }
        let Some((_, count, peers)) = sources.last_mut() else { continue };
        *count += 1;
        for (counts, theirs) in peers.iter_mut().zip(&one.theirs) {
            counts.add(!one.ours.is_empty(), !theirs.is_empty());
        }
    }
    let _ = write!(text, "\n## Agreement\n\n| definitions | number |");
    PEERS.iter().for_each(|peer| text.push_str(&format!(" {peer} |")));
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(PEERS.len()));
    for (source, count, peers) in sources {
        let _ = write!(text, "| {source} | {count} |");
        for Counts { agree, ours, theirs } in peers {
            let _ =
                write!(text, " {agree} agree, {ours} only we refuse, {theirs} only they refuse |");
        }
        text.push('\n');
    }
}

/// Who notices which kind of mistake.
fn kinds(text: &mut String, judged: &[Judged]) {
    let mut kinds: BTreeMap<&str, (usize, usize, [usize; PEERS.len()])> = BTreeMap::new();
    for (kind, one) in judged.iter().filter_map(|one| Some((one.case.kind?, one))) {
        let (count, ours, theirs) = kinds.entry(kind).or_default();
        *count += 1;
        *ours += usize::from(!one.ours.is_empty());
        for (refused, problems) in theirs.iter_mut().zip(&one.theirs) {
            *refused += usize::from(!problems.is_empty());
        }
    }
    let _ = write!(text, "\n## Who refuses which mistake\n\n| mutation | mutants | everstep |");
    PEERS.iter().for_each(|peer| text.push_str(&format!(" {peer} |")));
    let _ = writeln!(text, "\n|---|---|---|{}", "---|".repeat(PEERS.len()));
    for (kind, (count, ours, theirs)) in kinds {
        let _ = write!(text, "| {kind} | {count} | {ours} |");
        theirs.iter().for_each(|refused| text.push_str(&format!(" {refused} |")));
        text.push('\n');
    }
}

fn disagreements(text: &mut String, classes: &[Class<'_>]) {
    let _ = writeln!(text, "\n## Disagreements\n");
    let _ = writeln!(text, "| with | only | by | number | for example | right | why |");
    let _ = writeln!(text, "|---|---|---|---|---|---|---|");
    for class in classes {
        let (side, shown) = match class.side {
            Side::Ours => ("everstep refuses", "rule"),
            Side::Theirs => ("it refuses", "words"),
        };
        let (mark, right, why) = match class.row {
            Some(row) => (row.mark, row.right, row.why),
            None => ("?", "?", "unexplained"),
        };
        let mark = if shown == "rule" && class.row.is_some() {
            format!("[{mark}](rules/{mark}.md)")
        } else {
            format!("`{}`", cell(mark))
        };
        let example = class.cases.first().map(|(one, _)| title(one)).unwrap_or_default();
        let (peer, number) = (class.peer, class.cases.len());
        let _ = writeln!(
            text,
            "| {peer} | {side} | {mark} | {number} | {} | {right} | {} |",
            cell(&example),
            cell(why)
        );
    }
    text.push('\n');
}

/// Without what would end a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn title(judged: &Judged) -> String {
    match judged.case.kind {
        Some(kind) => kind.to_owned(),
        None => judged.case.name.replace("__", " "),
    }
}

pub(super) fn print_each(classes: &[Class<'_>]) {
    for class in classes {
        for (one, said) in &class.cases {
            let mark = class.row.map_or("UNEXPLAINED", |row| row.mark);
            let title = one.case.kind.unwrap_or("as it is");
            println!("{} {:?} [{mark}] {title}: {}: {said}", class.peer, class.side, one.case.name);
        }
    }
}

pub(super) fn write(tables: &str) -> Result<()> {
    let path = crate::root().join("docs/peers.md");
    let text = fs::read_to_string(&path)?;
    let (before, rest) =
        text.split_once(BEGIN).context("docs/peers.md has a mark to write behind")?;
    let (_, after) = rest.split_once(END).context("docs/peers.md has a mark to write before")?;
    Ok(fs::write(&path, format!("{before}{BEGIN}{tables}{END}{after}"))?)
}
