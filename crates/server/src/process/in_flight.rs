//! Who was being worked on when the last server died: counted before anything is worked on again.

use std::path::Path;
use std::sync::Arc;

use everstep_executions::{Clock as _, SystemClock};
use everstep_shards::{InFlight, InFlightFile, record_deaths};
use everstep_store::Store;

use super::error::{Context as _, Result};

/// In the data directory, which belongs to this process.
const FILE: &str = "in-flight";

/// The file for the notes of this process.
pub(super) fn open(data: &Path, store: &dyn Store) -> Result<Arc<dyn InFlight>> {
    let path = data.join(FILE);
    let cannot = || format!("cannot use {}", path.display());
    let (file, named) = InFlightFile::open(&path).context(cannot())?;
    record_deaths(store, &named, SystemClock.now_ms())?;
    file.clear().context(cannot())?;
    Ok(Arc::new(file))
}
