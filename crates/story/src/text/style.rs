//! What colours mean, and how wide a line may be.

/// How lines are written.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub coloured: bool,
    /// In characters.
    pub width: usize,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    #[must_use]
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    #[must_use]
    pub fn bad(self, text: &str) -> String {
        self.paint("1;91", text)
    }

    #[must_use]
    pub fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    #[must_use]
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    #[must_use]
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }
}
