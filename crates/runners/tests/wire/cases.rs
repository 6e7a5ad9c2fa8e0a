//! What clients are put through: a handler, and the events that it gets.

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) handler: &'static str,
    pub(crate) events: Vec<Event>,
    /// What the engine answers to results, instead of 202.
    pub(crate) refusal: Option<u16>,
}

#[derive(Clone, Default)]
pub(crate) struct Event {
    pub(crate) body: String,
    /// The deadline has been yesterday.
    pub(crate) is_late: bool,
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

impl Case {
    /// One event: an empty object.
    fn new(name: &'static str, handler: &'static str) -> Self {
        let case = Self { name, handler, events: Vec::new(), refusal: None };
        case.given(&["{}"])
    }

    fn given(self, bodies: &[&str]) -> Self {
        let event = |body: &&str| Event { body: (*body).to_owned(), ..Event::default() };
        Self { events: bodies.iter().map(event).collect(), ..self }
    }

    fn with_headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.events[0].headers = headers;
        self
    }

    fn late(mut self) -> Self {
        self.events[0].is_late = true;
        self
    }

    fn refused(self, status: u16) -> Self {
        Self { refusal: Some(status), ..self }
    }
}

const CONTEXT: &[(&str, &str)] = &[
    (
        "Lambda-Runtime-Client-Context",
        r#"{"custom":{"k":"v"},"env":{"e":"1"},"client":{"app_title":"t"}}"#,
    ),
    ("Lambda-Runtime-Trace-Id", "Root=1-2-3"),
];
const CONTEXT_OF_EVERSTEP: &[(&str, &str)] =
    &[("Lambda-Runtime-Client-Context", r#"{"custom":{"everstep.retryCount":"1"}}"#)];
const IDENTITY: &[(&str, &str)] = &[(
    "Lambda-Runtime-Cognito-Identity",
    r#"{"cognitoIdentityId":"i","cognitoIdentityPoolId":"p"}"#,
)];
const TRACE_CONTEXT: &[(&str, &str)] = &[(
    "Lambda-Runtime-Client-Context",
    r#"{"custom":{"k":"v"},"w3c":{"traceparent":"00-1","tracestate":5,"other":"x"}}"#,
)];
const BROKEN_CONTEXT: &[(&str, &str)] = &[("Lambda-Runtime-Client-Context", r#"{"custom":"#)];
const BROKEN_IDENTITY: &[(&str, &str)] = &[("Lambda-Runtime-Cognito-Identity", "{")];

const TEXT: &str = r#"{"a": [1, 2.5, "naïve 漢字 😀", null, true], "b": {}}"#;
const SEVEN_MEGABYTES: &str = "7000000";

pub(crate) fn python() -> Vec<Case> {
    let case = Case::new;
    vec![
        case("success", "app.echo").given(&[TEXT]),
        case("several events", "app.echo").given(&["1", "[]", r#""é""#, "null", "{}"]),
        case("events after errors", "app.raises").given(&["1", "2"]),
        case("nothing is returned", "app.nothing"),
        case("an exception", "app.raises"),
        case("an exception without a message", "app.raises_without_message"),
        case("an exception with a cause", "app.raises_with_cause"),
        case("an exception with odd characters", "app.raises_unicode"),
        case("a group of exceptions", "app.raises_group"),
        case("an interrupt", "app.raises_interrupt"),
        case("a result that cannot be serialised", "app.unserialisable"),
        case("a result that contains itself", "app.circular"),
        case("NaN", "app.not_numbers"),
        case("decimals", "app.decimals"),
        case("bytes", "app.raw_bytes"),
        case("bytes within a result", "app.bytes_within"),
        case("bytes within a result that are no text", "app.broken_bytes_within"),
        case("tuples", "app.tuples"),
        case("keys that are no strings", "app.odd_keys"),
        case("keys that cannot be serialised", "app.tuple_keys"),
        case("text and numbers", "app.text"),
        case("an event that is not JSON", "app.echo").given(&["not json", "1"]),
        case("an event that breaks off", "app.echo").given(&[r#"{"a":"#]),
        case("an event with more after it", "app.echo").given(&["{} {}"]),
        case("an event that is NaN", "app.echo").given(&["NaN"]),
        case("an empty event", "app.echo").given(&[""]),
        case("an event with large numbers", "app.echo")
            .given(&["[12345678901234567890, 1.0, 1e400]"]),
        case("sys.exit", "app.exits").given(&["3"]),
        case("sys.exit without an error", "app.exits").given(&["0"]),
        case("sys.exit with a text", "app.exits").given(&[r#""why""#]),
        case("os._exit", "app.exits_hard").given(&["127"]),
        case("SIGSEGV", "app.signals").given(&["11"]),
        case("SIGKILL", "app.signals").given(&["9"]),
        case("abort", "app.aborts"),
        case("an answer after the deadline", "app.has_no_time_left").given(&["{}", "{}"]).late(),
        case("a large answer", "app.large").given(&[SEVEN_MEGABYTES, "1"]),
        case("a large answer that is refused", "app.large")
            .given(&[SEVEN_MEGABYTES, "1"])
            .refused(413),
        case("an error that is refused", "app.raises").given(&["1", "2"]).refused(400),
        case("a thread is left behind", "app.leaves_a_thread").given(&["1", "2"]),
        case("the context", "app.sees"),
        case("the context of a client", "app.sees").given(&["1", "2"]).with_headers(CONTEXT),
        case("the context of everstep", "app.sees").with_headers(CONTEXT_OF_EVERSTEP),
        case("the context of a trace", "app.sees").with_headers(TRACE_CONTEXT),
        case("the context of an identity", "app.sees").with_headers(IDENTITY),
        case("a context that is not JSON", "app.echo")
            .given(&["1", "2"])
            .with_headers(BROKEN_CONTEXT),
        case("an identity that is not JSON", "app.echo").with_headers(BROKEN_IDENTITY),
        case("a module in a folder", "sub/mod.handler"),
        case("a module in a package", "sub.mod.handler"),
        case("a handler with one parameter", "app.takes_one"),
        case("a handler that is not a function", "app.text_handler"),
        case("a handler that is None", "app.none_handler"),
        case("a handler that is missing", "app.nope"),
        case("a handler without a dot", "app"),
        case("a module that is missing", "none.handler"),
        case("a module that is missing in a folder", "a/b.handler"),
        case("a module of Python itself", "sys.exit"),
        case("an import of what is missing", "imp.handler"),
        case("an import of a name that is missing", "part.handler"),
        case("a syntax error", "bad.handler"),
        case("an exception while loading", "zero.handler"),
        case("an exit while loading", "leave.handler"),
    ]
}

pub(crate) fn node() -> Vec<Case> {
    let case = Case::new;
    vec![
        case("success", "index.echo").given(&[TEXT]),
        case("several events", "index.echo").given(&["1", "[]", r#""é""#, "null", "{}"]),
        case("events after errors", "index.rejects").given(&["1", "2"]),
        case("a promise of nothing", "index.nothing"),
        case("nothing is returned", "index.returnsNothing").given(&["1", "2"]),
        case("a plain value is returned", "index.returnsPlainly"),
        case("a rejection", "index.rejects"),
        case("an exception", "index.throws"),
        case("a class without a name", "index.rejectsPlain"),
        case("a class with a name", "index.rejectsNamed"),
        case("an error with a cause", "index.rejectsWithCause"),
        case("an error with odd characters", "index.rejectsUnicode"),
        case("an error without a message", "index.rejectsWithoutMessage"),
        case("an error without a stack", "index.rejectsWithoutStack"),
        case("a rejection with undefined", "index.rejectsUndefined"),
        case("a rejection with null", "index.rejectsNull"),
        case("a rejection with an object", "index.rejectsObject"),
        case("a rejection with what looks like an error", "index.rejectsLookalike"),
        case("a rejection with what has no text", "index.rejectsNobody"),
        case("a rejection with zero", "index.rejectsNumber"),
        case("a string is thrown", "index.throwsString"),
        case("undefined is thrown", "index.throwsUndefined"),
        case("a callback", "index.callsBack").given(&["1", "2"]),
        case("a callback with an error", "index.callsBackError"),
        case("a callback with an error object", "index.callsBackErrorObject"),
        case("a callback with an error while a timer runs", "index.callsBackErrorWhileBusy"),
        case("two callbacks", "index.callsBackTwice").given(&["1", "2"]),
        case("an exception after a callback", "index.callsBackThenThrows").given(&["1", "2"]),
        case("work after a callback", "index.callsBackThenWorks"),
        case("a callback that does not wait", "index.callsBackAtOnce").given(&["1", "2"]),
        case("a callback with what cannot be serialised", "index.callsBackUnserialisable"),
        case("a callback from a timer", "index.callsBackLater"),
        case("a callback and a promise", "index.callsBackAndResolves").given(&["1", "2"]),
        case("context.succeed", "index.succeeds").given(&["1", "2"]),
        case("context.fail", "index.fails"),
        case("context.fail without an error", "index.failsWithNothing"),
        case("context.done", "index.isDone"),
        case("context.done with an error", "index.isDoneWithError"),
        case("a result that cannot be serialised", "index.bigint").given(&["1", "2"]),
        case("a result that contains itself", "index.circular"),
        case("a function is returned", "index.returnsFunction"),
        case("NaN", "index.notNumber"),
        case("NaN within a result", "index.notNumbers"),
        case("text and numbers", "index.text"),
        case("an event that breaks off", "index.echo").given(&[r#"{"a":"#, "1"]),
        case("an empty event", "index.echo").given(&[""]),
        case("an event with large numbers", "index.echo")
            .given(&["[12345678901234567890, 1.0, 1e400]"]),
        case("a promise that never settles", "index.never").given(&["1", "2"]),
        case("a promise that never settles, and a timer", "index.neverButBusy"),
        case("an exception in a timer", "index.throwsLater"),
        case("a string thrown in a timer", "index.throwsStringLater"),
        case("an unhandled rejection", "index.rejectsLater"),
        case("an unhandled rejection with undefined", "index.rejectsUndefinedLater"),
        case("an unhandled rejection with a string", "index.rejectsStringLater"),
        case("process.exit", "index.exits").given(&["3"]),
        case("process.exit without an error", "index.exits").given(&["0"]),
        case("SIGSEGV", "index.signals").given(&["11"]),
        case("SIGKILL", "index.signals").given(&["9"]),
        case("abort", "index.aborts"),
        case("an answer after the deadline", "index.hasNoTimeLeft").given(&["{}", "{}"]).late(),
        case("a large answer", "index.large").given(&[SEVEN_MEGABYTES, "1"]),
        case("a large answer that is refused", "index.large")
            .given(&[SEVEN_MEGABYTES, "1"])
            .refused(413),
        case("an error that is refused", "index.rejects").given(&["1", "2"]).refused(400),
        case("a timer is left behind", "index.leavesATimer").given(&["1", "2"]),
        case("the context", "index.sees"),
        case("the context of a client", "index.sees").given(&["1", "2"]).with_headers(CONTEXT),
        case("the context of everstep", "index.sees").with_headers(CONTEXT_OF_EVERSTEP),
        case("the context of an identity", "index.sees").with_headers(IDENTITY),
        case("a context that is not JSON", "index.echo")
            .given(&["1", "2"])
            .with_headers(BROKEN_CONTEXT),
        case("a handler in an object", "index.nested.handler"),
        case("a module with imports", "module.handler"),
        case("a module by its package.json", "esm/app.handler"),
        case("a module that requires", "common.handler"),
        case("a folder as module", "folder.handler"),
        case("a handler of the default export", "module.other"),
        case("a handler that is not a function", "index.textHandler"),
        case("a handler that is missing", "index.nope"),
        case("a handler that is missing in an object", "index.nested.nope.deeper"),
        case("a handler that is missing in a folder", "esm/app.nope"),
        case("a handler without a dot", "index"),
        case("a handler outside of the folder", "../index.handler"),
        case("a module that is missing", "none.handler"),
        case("a module that is missing in a folder", "a/b.handler"),
        case("a requirement that is missing", "imp.handler"),
        case("an import that is missing", "imp-module.handler"),
        case("a syntax error", "bad.handler"),
        case("a syntax error in a module with imports", "bad-module.handler"),
        case("an exception while loading", "zero.handler"),
        case("an exception while importing", "zero-module.handler"),
        case("an exception in a timer while loading", "timer.handler"),
        case("an unhandled rejection while loading", "reject.handler"),
        case("a module that never settles", "forever.handler"),
        case("an exit while loading", "leave.handler"),
    ]
}

/// The handler does what the event says.
pub(crate) fn rust() -> Vec<Case> {
    let case = |name| Case::new(name, "bootstrap");
    vec![
        case("success").given(&[TEXT, "1"]),
        case("an error").given(&[r#"{"do":"fail"}"#, "1"]),
        case("a diagnostic").given(&[r#"{"do":"diagnostic"}"#]),
        case("a panic").given(&[r#"{"do":"panic"}"#, "1"]),
        case("an event that is not JSON").given(&["not json", "1"]),
        case("exit").given(&[r#"{"do":"exit","with":3}"#]),
        case("abort").given(&[r#"{"do":"abort"}"#]),
        case("an answer after the deadline").given(&["1", "2"]).late(),
        case("a large answer that is refused").given(&["1", "2"]).refused(413),
        case("the context of everstep")
            .given(&[r#"{"do":"context"}"#])
            .with_headers(CONTEXT_OF_EVERSTEP),
    ]
}
