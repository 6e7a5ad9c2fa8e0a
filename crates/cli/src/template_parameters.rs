//! `--parameter NAME=VALUE`: the parameters of a CloudFormation or SAM template.

use clap::Args;
use everstep_config::Parameters;

// (A doc comment would become the help of the commands that flatten this.)
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TemplateParameters {
    /// Value of a parameter of the template, or of a value that it imports; repeatable
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = pair)]
    values: Vec<(String, String)>,
}

impl TemplateParameters {
    pub(crate) fn with(self, region: Option<String>, account: Option<String>) -> Parameters {
        Parameters { values: self.values, region, account }
    }

    /// For a template that is only read.
    pub(crate) fn anywhere(self) -> Parameters {
        self.with(None, None)
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
