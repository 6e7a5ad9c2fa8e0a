//! Where the others decide otherwise than we do, by the reason for it.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::Judged;
use super::install::PEERS;

/// A line for each kind of disagreement: who, which side refuses, the mark of its reason (a rule of ours, or words of theirs), who
/// is right, and why.
const EXPLANATIONS: &str = include_str!("explanations.tsv");

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    /// We refuse, they accept.
    Ours,
    /// They refuse, we accept.
    Theirs,
}

impl Side {
    fn find(name: &str) -> Option<Self> {
        match name {
            "ours" => Some(Self::Ours),
            "theirs" => Some(Self::Theirs),
            _ => None,
        }
    }
}

/// An explanation.
#[derive(Debug)]
pub(super) struct Row {
    /// `*` for all.
    peer: &'static str,
    side: Side,
    pub(super) mark: &'static str,
    pub(super) right: &'static str,
    pub(super) why: &'static str,
}

/// All disagreements of one kind.
pub(super) struct Class<'j> {
    pub(super) peer: &'static str,
    pub(super) side: Side,
    /// None if nobody has explained it.
    pub(super) row: Option<&'static Row>,
    pub(super) cases: Vec<(&'j Judged, String)>,
}

pub(super) fn classify(judged: &[Judged]) -> Result<Vec<Class<'_>>> {
    // Read once, for as long as the program runs.
    let rows: &'static [Row] = Vec::leak(rows()?);
    let mut classes: BTreeMap<(usize, Side, usize), Class<'_>> = BTreeMap::new();
    for one in judged {
        for (number, peer) in PEERS.into_iter().enumerate() {
            let theirs = &one.theirs[number];
            let (side, said) = match (one.ours.is_empty(), theirs.is_empty()) {
                (false, true) => (Side::Ours, one.ours.join(", ")),
                (true, false) => (Side::Theirs, theirs.join(" | ")),
                _ => continue,
            };
            let fits = |row: &Row| row.fits(peer, side, one, theirs);
            let at = rows.iter().position(fits);
            let class = Class { peer, side, row: at.map(|at| &rows[at]), cases: Vec::new() };
            let key = (number, side, at.unwrap_or(usize::MAX));
            classes.entry(key).or_insert(class).cases.push((one, said));
        }
    }
    Ok(classes.into_values().collect())
}

impl Row {
    fn fits(&self, peer: &str, side: Side, judged: &Judged, theirs: &[String]) -> bool {
        let marked = match side {
            Side::Ours => judged.ours.contains(&self.mark),
            Side::Theirs => theirs.iter().any(|said| said.contains(self.mark)),
        };
        marked && self.side == side && (self.peer == "*" || self.peer == peer)
    }
}

fn rows() -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for line in EXPLANATIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let cells: Vec<&'static str> = line.split('\t').collect();
        let [peer, side, mark, right, why] = *cells else {
            anyhow::bail!("five cells: {line}");
        };
        let side = Side::find(side).ok_or_else(|| anyhow::anyhow!("ours or theirs: {line}"))?;
        let known = peer == "*" || PEERS.contains(&peer);
        ensure!(known && matches!(right, "ours" | "theirs" | "both" | "open"), "{line}");
        rows.push(Row { peer, side, mark, right, why });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explanations_can_be_read() {
        assert!(!rows().unwrap().is_empty());
    }
}
