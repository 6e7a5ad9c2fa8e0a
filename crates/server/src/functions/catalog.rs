//! What callers of the API see of functions: our own form, and Lambda's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::FunctionSettings;
use serde_json::{Value, json};

use super::calls::Calls;
use super::deployment::Described;
use super::request::{Lookup, Refusal};

pub(crate) struct Catalog {
    calls: Arc<Calls>,
    described: Mutex<HashMap<String, Described>>,
}

type Settings = Arc<FunctionSettings>;

impl Catalog {
    pub(super) fn new(calls: Arc<Calls>) -> Self {
        Self { calls, described: Mutex::default() }
    }

    pub(super) fn replace(&self, described: HashMap<String, Described>) {
        *self.lock() = described;
    }

    /// Every function, by name: what it is, and what it is doing.
    pub(super) fn all(&self) -> Value {
        let all = self.calls.all();
        let described = self.lock();
        let shown = |(name, settings): &(String, Settings)| {
            let standing = self.calls.host().standing(name).unwrap_or_default();
            let mut shown = json!({
                "name": name,
                "arn": settings.terms.arn,
                "version": settings.version,
                "concurrency": settings.concurrency,
                "throttles": settings.throttles,
                "policy": settings.terms.policy,
                "maxEventAgeMs": settings.event_age_max_ms,
                "workers": standing.workers,
                "idle": standing.idle,
                "waiting": standing.waiting,
            });
            if let Some(described) = described.get(name) {
                shown["runtime"] = json!(described.runtime);
                shown["handler"] = json!(described.handler);
                shown["timeoutMs"] = json!(described.timeout_ms);
                shown["memoryMiB"] = json!(described.memory_mib);
            }
            shown
        };
        json!({ "functions": all.iter().map(shown).collect::<Vec<_>>() })
    }

    /// As Lambda has it.
    pub(super) fn look_up(&self, asked: &Lookup) -> Result<Value, Refusal> {
        match asked {
            Lookup::Functions { after, max } => Ok(self.page(after.as_deref(), *max)),
            Lookup::Configuration(name) => self.configuration(name),
            Lookup::Function(name) => {
                let configuration = self.configuration(name)?;
                let mut answer = json!({ "Configuration": configuration });
                let concurrency = self.lock().get(name).and_then(|described| described.concurrency);
                if let Some(concurrency) = concurrency {
                    answer["Concurrency"] = json!({ "ReservedConcurrentExecutions": concurrency });
                }
                Ok(answer)
            }
        }
    }

    fn page(&self, after: Option<&str>, max: usize) -> Value {
        let all = self.calls.all();
        let rest = all.iter().filter(|(name, _)| after.is_none_or(|after| name.as_str() > after));
        let page: Vec<_> = rest.take(max.saturating_add(1)).collect();
        let described = self.lock();
        let shown = page.iter().take(max);
        let shown =
            shown.map(|(name, settings)| configuration(name, settings, described.get(name)));
        let mut answer = json!({ "Functions": shown.collect::<Vec<_>>() });
        if page.len() > max
            && let Some((last, _)) = max.checked_sub(1).and_then(|at| page.get(at))
        {
            answer["NextMarker"] = json!(last);
        }
        answer
    }

    fn configuration(&self, name: &str) -> Result<Value, Refusal> {
        let all = self.calls.all();
        let found = all.iter().find(|(own, _)| own == name);
        let (name, settings) = found.ok_or_else(|| self.missing(name))?;
        Ok(configuration(name, settings, self.lock().get(name)))
    }

    pub(super) fn missing(&self, function: &str) -> Refusal {
        let message = format!("Function not found: {}", self.calls.host().function_arn(function));
        Refusal::new(404, "ResourceNotFoundException", message)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Described>> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lambda's `FunctionConfiguration`. What has no meaning here (a role, layers, the size of the code) is left
/// out, and so is the environment, which may have secrets.
fn configuration(name: &str, settings: &FunctionSettings, described: Option<&Described>) -> Value {
    let mut shown = json!({
        "FunctionName": name,
        "FunctionArn": settings.terms.arn,
        "Version": settings.version,
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "Architectures": [ARCHITECTURE],
    });
    if let Some(described) = described {
        shown["Timeout"] = json!(described.timeout_ms.div_ceil(1000));
        if let Some(memory_mib) = described.memory_mib {
            shown["MemorySize"] = json!(memory_mib);
        }
        if described.is_lambda {
            shown["Runtime"] = json!(described.runtime);
        }
        if let Some(handler) = &described.handler {
            shown["Handler"] = json!(handler);
        }
    }
    shown
}

const ARCHITECTURE: &str =
    if cfg!(target_arch = "aarch64") { "arm64" } else { std::env::consts::ARCH };
