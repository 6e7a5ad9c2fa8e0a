//! What the server needs from the command line: lines on standard error, the problems of a configuration as
//! `everstep check` shows them, mock files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use everstep_analysis::agreement;
use everstep_config::Parameters;
use everstep_server::{Ended, Error, Frontend, Given, Mode, Others, Project, ServedBy, TestCases};

use crate::commands::check::{self, Usable};
use crate::configuration;
use crate::exit::Exit;
use crate::mock_file::MockFile;
use crate::output::Stream;
use crate::template_parameters::TemplateParameters;

struct CommandLine {
    parameters: Parameters,
}

impl Frontend for CommandLine {
    fn write(&self, text: &str) {
        let _ = Stream::Story.write(text);
    }

    fn project(&self, path: &Path, server: ServedBy) -> Result<Option<Project>, Error> {
        read_project(path, &self.parameters, server).map_err(|error| described(&error))
    }

    fn test_cases(&self, mock_file: &Path) -> Result<Arc<dyn TestCases>, Error> {
        match MockFile::read(mock_file) {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) => Err(described(&error)),
        }
    }

    fn interrupted(&self) -> ! {
        std::process::exit(Exit::Interrupted as i32)
    }
}

fn described(error: &anyhow::Error) -> Error {
    Error::new(format!("{error:#}"))
}

fn read_project(
    path: &Path,
    parameters: &Parameters,
    server: ServedBy,
) -> anyhow::Result<Option<Project>> {
    let entry = configuration::locate(path)?;
    let parsed = configuration::read(&entry, parameters)?;
    let sources = parsed.sources.iter().map(|source| PathBuf::from(source.name())).collect();
    let others = match server.others {
        Others::Nowhere => agreement::Others::Nowhere,
        Others::Elsewhere => agreement::Others::Elsewhere,
    };
    let server = check::Server { others, dialect: server.dialect };
    let usable = check::report(parsed, &server)?;
    Ok(usable.map(|Usable { config, invalid }| Project::new(entry, config, sources, invalid)))
}

/// Runs a server until it is asked to stop.
pub(crate) fn serve(
    given: Given,
    file: Option<&Path>,
    mode: Mode,
    parameters: TemplateParameters,
) -> anyhow::Result<Exit> {
    let parameters = parameters.with(given.region.clone(), given.account.clone());
    let frontend = Arc::new(CommandLine { parameters });
    Ok(match everstep_server::run(given, file, mode, frontend)? {
        Ended::Stopped => Exit::Good,
        Ended::Refused => Exit::Problems,
    })
}
