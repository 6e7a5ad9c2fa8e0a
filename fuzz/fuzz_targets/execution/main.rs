//! Whole definitions, generated and run to their ends under limits: nothing panics, folding the recorded events
//! gives what was decided, and the history can be shown.

#![no_main]

mod definition;
mod run;

use everstep_interpreter::Dialect;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

use definition::Writer;
use run::Run;

/// Set to print each definition before it runs: to read what an input stands for.
const SHOW: &str = "EVERSTEP_FUZZ_SHOW";

fuzz_target!(|data: &[u8]| {
    let mut from = Unstructured::new(data);
    // Too few bytes for a definition.
    let Ok((dialect, definition, input)) = draw(&mut from) else { return };
    if std::env::var_os(SHOW).is_some() {
        println!("{definition:#}\n{input:#}");
    }
    let Some(machine) = run::machine(&definition.to_string()) else { return };
    Run::new(&mut from, machine, dialect, input).to_the_end();
});

fn draw(from: &mut Unstructured<'_>) -> Result<(Dialect, Value, Value)> {
    let dialect = if from.arbitrary()? { Dialect::Spec } else { Dialect::Aws };
    let mut writer = Writer::new(from)?;
    let definition = writer.definition()?;
    let input = writer.input()?;
    Ok((dialect, definition, input))
}
