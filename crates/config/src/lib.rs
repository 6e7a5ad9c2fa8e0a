//! `everstep.yaml`: functions, state machines and their policies, read with every problem in its place.
//!
//! [`read`] takes the entry's path and two closures, for files and for the environment; nothing else of
//! the outside is touched. What it returns is complete: names resolve, and every policy says where it
//! comes from. How any of it runs is not known here.

mod azure;
mod chain;
mod document;
mod function;
mod machine;
pub mod model;
mod origin;
mod queue;
mod reader;
mod retry;
mod root;
mod rule;
mod runtime;
mod sam;
mod target;
mod template;
mod text;
mod trigger;
mod url;

use std::cell::{Cell, RefCell};
use std::io;
use std::path::Path;
use std::rc::Rc;

use everstep_source::{Collected, Collector, Source};

pub use everstep_source::Diagnostic;
pub use model::Config;
pub use origin::{Given, Line, Origin};
pub use rule::Rule;
pub use template::Parameters;
pub use text::Text;

use crate::reader::{Cx, Loader};

/// The names under which a configuration is looked for in a folder.
pub const FILE_NAMES: [&str; 5] =
    ["everstep.yaml", "everstep.yml", "template.yaml", "template.yml", "template.json"];

/// What came of an entry.
#[derive(Debug)]
pub struct Parsed {
    config: Option<Config>,
    errors: usize,
    /// Sorted by file and place; at most a thousand.
    pub diagnostics: Vec<Diagnostic>,
    /// How many were left out.
    pub omitted: usize,
    /// Every file that was read, the entry first; diagnostics refer to them by index.
    pub sources: Vec<Source>,
}

impl Parsed {
    /// The configuration, if there is no error.
    #[must_use]
    pub fn config(&self) -> Option<&Config> {
        self.config.as_ref().filter(|_| self.errors == 0)
    }

    #[must_use]
    pub fn into_config(self) -> Option<Config> {
        self.config.filter(|_| self.errors == 0)
    }

    /// What could be read in spite of errors: good for looking further, not for running.
    #[must_use]
    pub fn fragment(&self) -> Option<&Config> {
        self.config.as_ref()
    }
}

/// Reads the configuration that begins with this file. `load` gives the text of a file, whose path is
/// relative to where the entry's is; `env` gives a variable of the environment, `parameters` those of a template.
pub fn read(
    entry: &Path,
    load: &mut dyn FnMut(&Path) -> io::Result<String>,
    env: &dyn Fn(&str) -> Option<String>,
    parameters: &Parameters,
) -> Parsed {
    let loader = RefCell::new(load);
    let cx = Cx {
        env,
        parameters,
        loader: &loader as &dyn Loader,
        sources: RefCell::default(),
        problems: Collector::default(),
        strict: Cell::new(false),
    };
    let config = root::config(&cx, entry);
    let Collected { diagnostics, omitted, errors } = cx.problems.finish();
    Parsed {
        config,
        errors,
        diagnostics,
        omitted,
        sources: cx.sources.take().into_iter().map(unshared).collect(),
    }
}

fn unshared(source: Rc<Source>) -> Source {
    Rc::try_unwrap(source).unwrap_or_else(|shared| Source::new(shared.name(), shared.text()))
}
