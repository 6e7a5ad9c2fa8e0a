//! Facts for people.

mod function;
mod machine;
mod state;
mod trigger;

pub use function::function;
pub use machine::machine;
pub use state::state;
pub use trigger::trigger;

/// Breaks prose at blanks; lines after the first are indented.
fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = line.chars().count() + 1 + word.chars().count();
        if !line.trim().is_empty() && longer > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

/// A name and what is to say about it, in two columns.
fn entry(name: &str, text: &str, width: usize) -> String {
    const NAME_WIDTH: usize = 12;
    let body = wrapped(text, width.saturating_sub(NAME_WIDTH), 0);
    let mut lines = body.lines();
    let first = format!("{name:NAME_WIDTH$}{}\n", lines.next().unwrap_or_default());
    lines.fold(first, |text, line| format!("{text}{}{line}\n", " ".repeat(NAME_WIDTH)))
}
