//! The box of one state: its words, its badges, and the scopes inside it.

use super::Scope;
use crate::layout::geometry::{Point, Rect, Size};
use crate::model::{Graph, Kind, Node};
use crate::text::{self, Block, Font, Line};

pub(crate) const NAME_FONT: Font = Font { size: 13.0, bold: true };
pub(crate) const DETAIL_FONT: Font = Font { size: 11.0, bold: false };
pub(crate) const BADGE_FONT: Font = Font { size: 10.0, bold: false };

const NAME_HEIGHT: f64 = 17.0;
const DETAIL_HEIGHT: f64 = 15.0;
const TEXT_WIDTH_MAX: f64 = 190.0;
const PADDING: f64 = 10.0;
pub(crate) const ICON_SIZE: f64 = 24.0;
const BADGE_HEIGHT: f64 = 16.0;
const BADGE_PADDING: f64 = 7.0;
const BADGE_WIDTH_MAX: f64 = 120.0;
const BADGES_MAX: usize = 3;
/// How far the slanted sides of a Choice reach in.
pub(crate) const SLANT: f64 = 12.0;
/// Room between the frames of nested scopes, and inside them.
const FRAME_GAP: f64 = 12.0;
const FRAME_PADDING: f64 = 16.0;
const FRAME_TITLE_HEIGHT: f64 = 24.0;
/// Branches go to a further row where one row would get wider than this.
const ROW_WIDTH_MAX: f64 = 1_400.0;

#[derive(Debug)]
pub(crate) struct Card<'a> {
    pub(crate) node: &'a Node,
    pub(crate) rect: Rect,
    /// Left top corner of the icon. This and all below count from the corner of the card.
    pub(crate) icon: Point,
    pub(crate) texts: Vec<Text>,
    pub(crate) badges: Vec<(Rect, Line)>,
    pub(crate) frames: Vec<Frame<'a>>,
    /// All there is to say about the state, whether or not the card has room for it.
    pub(crate) title: String,
}

/// A line of text by the left end of its baseline.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) at: Point,
    pub(crate) line: Line,
    pub(crate) class: &'static str,
}

/// A nested scope with a line around it.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) rect: Rect,
    pub(crate) title: Block,
    pub(crate) scope: Scope<'a>,
    /// Where the scope's corner is, from the corner of the card.
    pub(crate) origin: Point,
}

impl<'a> Card<'a> {
    pub(crate) fn new(node: &'a Node, depth: usize) -> Self {
        let name = if node.name.trim().is_empty() { "(no name)" } else { &node.name };
        let note = node.hidden_note(depth);
        let name = text::wrap(name, NAME_FONT, TEXT_WIDTH_MAX, 3);
        let details = [node.detail.as_deref(), note.as_deref()].into_iter().flatten();
        let details: Vec<Block> =
            details.map(|detail| text::wrap(detail, DETAIL_FONT, TEXT_WIDTH_MAX, 2)).collect();
        let slant = if node.kind == Kind::Choice { SLANT } else { 0.0 };
        let left = slant + PADDING + ICON_SIZE + PADDING;
        let mut column = Column { left, y: PADDING, width: 0.0, texts: Vec::new() };
        column.push(name, NAME_HEIGHT, NAME_FONT, "name");
        for detail in details {
            column.push(detail, DETAIL_HEIGHT, DETAIL_FONT, "detail");
        }
        let badges = badges(&node.badges, &mut column);
        let mut card = Self {
            node,
            rect: Rect {
                width: (left + column.width + PADDING + 4.0 + slant).max(96.0),
                height: (column.y + PADDING).max(ICON_SIZE + 2.0 * PADDING),
                ..Rect::default()
            },
            icon: Point { x: slant + PADDING, y: PADDING },
            texts: column.texts,
            badges,
            frames: Vec::new(),
            title: title(node, note),
        };
        card.add_frames(node.drawn_children(depth), depth);
        if card.frames.is_empty() {
            card.centre();
        }
        card
    }

    /// Moves icon and words to the middle of a card that is taller than they need.
    fn centre(&mut self) {
        let texts = self.texts.iter().map(|text| text.at.y + 4.0);
        let badges = self.badges.iter().map(|(rect, _)| rect.bottom());
        let bottom = texts.chain(badges).fold(0.0, f64::max);
        let slack = ((self.rect.height - PADDING - bottom) / 2.0).max(0.0);
        self.icon.y = (self.rect.height - ICON_SIZE) / 2.0;
        self.texts.iter_mut().for_each(|text| text.at.y += slack);
        self.badges.iter_mut().for_each(|(rect, _)| rect.y += slack);
    }

    /// Puts nested scopes below the words, side by side, in as many rows as they need.
    fn add_frames(&mut self, children: &'a [Graph], depth: usize) {
        let mut corner = Point { x: FRAME_GAP, y: self.rect.height };
        let mut row_height = 0.0_f64;
        for child in children {
            let mut frame = Frame::new(child, depth + 1);
            if corner.x > FRAME_GAP && corner.x + frame.rect.width > ROW_WIDTH_MAX {
                corner = Point { x: FRAME_GAP, y: corner.y + row_height + FRAME_GAP };
                row_height = 0.0;
            }
            frame.shift(corner);
            corner.x = frame.rect.right() + FRAME_GAP;
            row_height = row_height.max(frame.rect.height);
            self.rect.width = self.rect.width.max(corner.x);
            self.rect.height = frame.rect.y + row_height + FRAME_GAP;
            self.frames.push(frame);
        }
        self.even_out();
    }

    /// Frames of a row get the same height, and the row fills the card.
    fn even_out(&mut self) {
        let mut rest = &mut self.frames[..];
        while let Some(first) = rest.first() {
            let y = first.rect.y;
            let count = rest.iter().take_while(|frame| frame.rect.y == y).count();
            let (row, others) = rest.split_at_mut(count);
            let height = row.iter().map(|frame| frame.rect.height).fold(0.0, f64::max);
            let end = row.last().map_or(0.0, |frame| frame.rect.right() + FRAME_GAP);
            let more = (self.rect.width - end) / count as f64;
            for (index, frame) in row.iter_mut().enumerate() {
                frame.rect.x += more * index as f64;
                frame.rect.width += more;
                frame.rect.height = height;
                frame.origin.x += more * (index as f64 + 0.5);
            }
            rest = others;
        }
    }
}

impl<'a> Frame<'a> {
    fn new(graph: &'a Graph, depth: usize) -> Self {
        let scope = Scope::new(graph, depth);
        let title = graph.title.as_deref().unwrap_or_default();
        let title = text::wrap(title, DETAIL_FONT, scope.size.width.max(TEXT_WIDTH_MAX), 1);
        let top = if title.lines.is_empty() { FRAME_PADDING } else { FRAME_TITLE_HEIGHT + 4.0 };
        let inner = Size { width: scope.size.width.max(title.width()), ..scope.size };
        let rect = Rect {
            width: inner.width + 2.0 * FRAME_PADDING,
            height: inner.height + top + FRAME_PADDING,
            ..Rect::default()
        };
        let x = (rect.width - scope.size.width) / 2.0;
        Self { rect, title, scope, origin: Point { x, y: top } }
    }

    fn shift(&mut self, by: Point) {
        self.rect.x += by.x;
        self.rect.y += by.y;
        self.origin.x += by.x;
        self.origin.y += by.y;
    }
}

/// Lines of text from top to bottom.
struct Column {
    left: f64,
    y: f64,
    width: f64,
    texts: Vec<Text>,
}

impl Column {
    fn push(&mut self, block: Block, line_height: f64, font: Font, class: &'static str) {
        self.width = self.width.max(block.width());
        for line in block.lines {
            let baseline = self.y + (line_height + font.size * 0.72) / 2.0;
            self.texts.push(Text { at: Point { x: self.left, y: baseline }, line, class });
            self.y += line_height;
        }
    }
}

/// Puts badges below the words, in rows.
fn badges(remarks: &[String], column: &mut Column) -> Vec<(Rect, Line)> {
    let mut badges = Vec::new();
    let hidden = remarks.len().saturating_sub(BADGES_MAX);
    let more = (hidden > 0).then(|| format!("+{hidden}"));
    let mut corner = Point { x: column.left, y: column.y + 4.0 };
    for remark in remarks.iter().take(BADGES_MAX).chain(&more) {
        let block = text::wrap(remark, BADGE_FONT, BADGE_WIDTH_MAX, 1);
        let Some(line) = block.lines.into_iter().next() else {
            continue;
        };
        let width = line.width + 2.0 * BADGE_PADDING;
        if corner.x > column.left && corner.x + width > column.left + TEXT_WIDTH_MAX {
            corner = Point { x: column.left, y: corner.y + BADGE_HEIGHT + 4.0 };
        }
        let rect = Rect { x: corner.x, y: corner.y, width, height: BADGE_HEIGHT };
        column.width = column.width.max(rect.right() - column.left);
        column.y = rect.bottom();
        corner.x = rect.right() + 4.0;
        badges.push((rect, line));
    }
    badges
}

fn title(node: &Node, note: Option<String>) -> String {
    let mut title = format!("{} ({})", node.name, node.kind.name());
    if let Some(status) = node.status {
        title.push_str(": ");
        title.push_str(status.name());
    }
    for line in node.detail.iter().chain(&node.badges).chain(&note) {
        title.push('\n');
        title.push_str(line);
    }
    title
}
