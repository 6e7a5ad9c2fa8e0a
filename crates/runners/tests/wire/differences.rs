//! Where the clients that are built in differ on purpose from the official ones. A difference that is
//! listed and does not occur is a fault.

use serde_json::{Value, json};

use crate::recording::{Recording, Request};

pub(crate) struct Difference {
    /// What differs, and why.
    pub(crate) what: &'static str,
    /// The cases in which it occurs; all in which it can, if none is named.
    pub(crate) cases: &'static [&'static str],
    /// Makes what the official client sent into what the one that is built in sends.
    pub(crate) change: fn(&mut Recording),
}

pub(crate) fn python() -> Vec<Difference> {
    vec![
        XRAY,
        Difference {
            what: "a refused answer does not end the process: the engine, which refused it, decides",
            cases: &["a large answer that is refused", "an error that is refused"],
            change: |recording| {
                let mut second = recording.requests.clone();
                for request in &mut second {
                    request.path = request.path.replace("r-1", "r-2");
                    request.body = request.body.replace("r-1", "r-2");
                    if request.body.contains("bytes)") {
                        request.body = r#""x""#.to_owned();
                    }
                }
                let next = recording.requests[0].clone();
                recording.requests.extend(second);
                recording.requests.push(next);
                "waits for an event".clone_into(&mut recording.ending);
            },
        },
        Difference {
            what: "where an event stops to be JSON is said by json, not by simplejson",
            cases: &["an event with more after it"],
            change: |recording| {
                errors(recording, |error| {
                    let message = error["errorMessage"].as_str().unwrap();
                    let message = message.replace(" - line 1 column 6 (char 3 - 5)", " (char 3)");
                    error["errorMessage"] = json!(message);
                });
            },
        },
    ]
}

pub(crate) fn node() -> Vec<Difference> {
    vec![
        XRAY,
        Difference {
            what: "a class that sets no name is named beside the name that it inherits",
            cases: &["a class without a name"],
            change: |recording| {
                errors(recording, |error| error["everstep.className"] = json!("Plain"));
            },
        },
        Difference {
            what: "the trace of an unhandled rejection says where the reason comes from",
            cases: &["an unhandled rejection"],
            change: |recording| {
                add_frame(recording, "exports.rejectsLater [as handler] (<code>/index.js:146:18)");
            },
        },
        Difference {
            what: "the trace of an unhandled rejection says where the reason comes from, at the start too",
            cases: &["an unhandled rejection while loading"],
            change: |recording| add_frame(recording, "file://<code>/reject.mjs:1:16"),
        },
    ]
}

const XRAY: Difference = Difference {
    what: "the header Lambda-Runtime-Function-Xray-Error-Cause is left out: there is no X-Ray here",
    cases: &[],
    change: |recording| {
        for Request { headers, .. } in &mut recording.requests {
            headers.retain(|(name, _)| !name.ends_with("Xray-Error-Cause"));
        }
    },
};

/// Changes what errors say.
fn errors(recording: &mut Recording, change: impl Fn(&mut Value)) {
    for request in recording.requests.iter_mut().filter(|request| request.path.ends_with("/error"))
    {
        let mut error = serde_json::from_str(&request.body).unwrap();
        change(&mut error);
        request.body = format!("{error:#}");
    }
}

fn add_frame(recording: &mut Recording, frame: &str) {
    errors(recording, |error| {
        error["trace"].as_array_mut().unwrap().push(json!(format!("    at {frame}")));
    });
}

pub(crate) fn apply(differences: &[Difference], recordings: &mut [(String, Recording)]) {
    for Difference { what, cases, change } in differences {
        let mut occurs = Vec::new();
        for (name, recording) in recordings.iter_mut() {
            let before = recording.clone();
            if cases.is_empty() || cases.contains(&name.as_str()) {
                change(recording);
            }
            if *recording != before {
                occurs.push(name.as_str());
            }
        }
        assert!(!occurs.is_empty(), "does not occur any more: {what}");
        assert!(cases.is_empty() || occurs == *cases, "{what}: occurs in {occurs:?} only");
    }
}
