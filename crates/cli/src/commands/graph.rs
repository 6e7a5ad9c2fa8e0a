//! `everstep graph`: a picture of a definition.

use std::fs;

use clap::{Args, ValueEnum};
use everstep_asl::Dialect;

use crate::definition;
use crate::exit::Exit;
use crate::output::Stream;

/// Draw a definition as SVG, Mermaid or DOT
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Graph {
    /// Definition, JSON or YAML; `-` for standard input
    file: String,
    /// Output format [default: by the extension of the output file, else svg]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Self-contained image, for browsers and documents
    Svg,
    /// Text that GitHub, GitLab and many wikis render
    Mermaid,
    /// Text for Graphviz
    Dot,
}

const AFTER_HELP: &str = "\
Examples:
  everstep graph order.asl.json -o order.svg
  everstep graph order.asl.json --format mermaid
  everstep graph order.asl.json --format dot | dot -Tpdf > order.pdf

Exit codes:
  0  success
  1  the definition has errors
  2  invalid arguments, or a file cannot be read or written";

impl Graph {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let machine = match definition::load(&self.file, Dialect::default())? {
            Ok((_, machine)) => machine,
            Err(exit) => return Ok(exit),
        };
        let graph = everstep_graph::definition::graph(&machine);
        let picture = match self.format() {
            Format::Svg => everstep_graph::svg(&graph),
            Format::Mermaid => everstep_graph::mermaid(&graph),
            Format::Dot => everstep_graph::dot(&graph),
        };
        match &self.output {
            Some(file) => fs::write(file, picture)
                .map_err(|error| anyhow::anyhow!("cannot write `{file}`: {error}"))?,
            None => Stream::Data.write(&picture)?,
        }
        Ok(Exit::Good)
    }

    fn format(&self) -> Format {
        let ending = self.output.as_deref().and_then(|file| file.rsplit_once('.'));
        self.format.unwrap_or(match ending {
            Some((_, "mmd" | "mermaid")) => Format::Mermaid,
            Some((_, "dot" | "gv")) => Format::Dot,
            _ => Format::Svg,
        })
    }
}
