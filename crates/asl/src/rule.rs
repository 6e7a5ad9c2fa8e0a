//! Every rule a definition is checked against, by name.
//!
//! Each has a page in `docs/rules/` whose examples are its tests.

use everstep_source::Severity;

macro_rules! rules {
    ($($group:literal { $($variant:ident, $name:literal, $severity:ident, $summary:literal;)* })*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $($($variant),*),* }

        impl Rule {
            pub const ALL: &[Self] = &[$($(Self::$variant),*),*];

            /// All of them, by what they are about.
            pub const GROUPS: &[(&str, &[Self])] = &[$(($group, &[$(Self::$variant),*])),*];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $($(Self::$variant => $name),*),* }
            }

            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $($(Self::$variant => Severity::$severity),*),* }
            }

            /// One line, for lists.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self { $($(Self::$variant => $summary),*),* }
            }

            /// The page that teaches it, in Markdown.
            #[must_use]
            pub fn page(self) -> &'static str {
                match self {
                    $($(Self::$variant => include_str!(concat!("../../../docs/rules/", $name, ".md"))),*),*
                }
            }
        }
    };
}

rules! {
    "The text" {
        InvalidDocument, "invalid-document", Error, "the text is not valid JSON or YAML";
        DuplicateField, "duplicate-field", Error, "an object has the same field twice";
        DefinitionTooLarge, "definition-too-large", Error, "the definition is larger than 1 MiB";
    }

    "The shape of objects" {
        RequiredField, "required-field", Error, "a required field is missing";
        UnknownField, "unknown-field", Error, "a field that the language does not have";
        MisplacedField, "misplaced-field", Error, "a field that the language has, but not here";
        WrongType, "wrong-type", Error, "a value of the wrong JSON type";
        UnknownValue, "unknown-value", Error, "a value that is not one of the allowed ones";
        EmptyValue, "empty-value", Error, "an empty array or string where one is not allowed";
        OutOfRange, "out-of-range", Error, "a number outside its bounds";
        ExclusiveFields, "exclusive-fields", Error, "two fields that exclude each other";
    }

    "Machines and transitions" {
        UnknownStartState, "unknown-start-state", Error, "StartAt names no state";
        StateNameTooLong, "state-name-too-long", Error, "a state's name is longer than 128 characters";
        DuplicateStateName, "duplicate-state-name", Error, "two states of one machine have the same name";
        UnknownStateType, "unknown-state-type", Error, "Type is not one of the eight state types";
        MissingTransition, "missing-transition", Error, "a state has neither Next nor End";
        UnknownTarget, "unknown-target", Error, "a transition names no state";
        TargetOutOfScope, "target-out-of-scope", Error, "a transition leads into or out of a branch";
        UnsupportedVersion, "unsupported-version", Error, "Version is not 1.0";
    }

    "Expressions" {
        InvalidPath, "invalid-path", Error, "a path that does not parse";
        InvalidReferencePath, "invalid-reference-path", Error, "a path that can identify more than one node";
        InvalidIntrinsic, "invalid-intrinsic", Error, "an intrinsic function that does not parse, or can never be evaluated";
        InvalidTemplate, "invalid-template", Error, "a payload template that cannot be filled in";
        DuplicateTemplateName, "duplicate-template-name", Error, "two template fields with one name once `.$` is stripped";
        ResultPathRoot, "result-path-root", Error, "ResultPath points outside the state's input";
        InvalidTimestamp, "invalid-timestamp", Error, "an invalid timestamp";
        InvalidStringPattern, "invalid-string-pattern", Error, "a StringMatches pattern with an incomplete escape";
        InvalidJsonata, "invalid-jsonata", Error, "a JSONata expression that does not parse or is not allowed";
        JsonataExpected, "jsonata-expected", Error, "a string that must be a `{% … %}` expression";
        UnknownFunction, "unknown-function", Warning, "a JSONata expression calls a function that does not exist";
        UnavailableStatesField, "unavailable-states-field", Error, "a field of `$states` that is not available here";
        WrongQueryLanguage, "wrong-query-language", Error, "a field of the other query language";
        QueryLanguageDowngrade, "query-language-downgrade", Error, "a JSONPath state in a JSONata machine";
    }

    "Variables" {
        InvalidVariableName, "invalid-variable-name", Error, "an invalid variable name";
        VariableShadowsOuter, "variable-shadows-outer", Warning, "an inner scope assigns a variable of an outer one";
        UnassignedVariable, "unassigned-variable", Warning, "a variable that no state assigns";
    }

    "State types" {
        WaitDuration, "wait-duration", Error, "a Wait state without exactly one duration";
        ChoiceOperator, "choice-operator", Error, "a Choice Rule without exactly one comparison operator";
        NestedChoiceNext, "nested-choice-next", Error, "a nested Choice Rule has a Next field";
        HeartbeatNotShorter, "heartbeat-not-shorter", Error, "HeartbeatSeconds is not smaller than TimeoutSeconds";
        InvalidResource, "invalid-resource", Error, "Resource is not a URI, or an ARN that names nothing";
        UnknownIntegration, "unknown-integration", Error, "no service integration of that name";
        ExpressUnsupported, "express-unsupported", Error, "a task that EXPRESS workflows cannot run";
        ProcessorRequired, "processor-required", Error, "a Map state without exactly one ItemProcessor or Iterator";
        DistributedOnly, "distributed-only", Error, "a field that only a DISTRIBUTED Map has";
        InvalidLabel, "invalid-label", Error, "a Map label that is too long, used twice or has forbidden characters";
    }

    "Error handling" {
        StatesAllNotAlone, "states-all-not-alone", Error, "States.ALL is not the only error name";
        StatesAllNotLast, "states-all-not-last", Error, "States.ALL is followed by another retrier or catcher";
    }

    "Advice" {
        ReservedErrorName, "reserved-error-name", Warning, "a custom error name that begins with `States.`";
        FailWithoutError, "fail-without-error", Warning, "a Fail state without Error or Cause";
        UnreachableRetrier, "unreachable-retrier", Warning, "a retrier that can never match";
        UnreachableCatcher, "unreachable-catcher", Warning, "a catcher that can never match";
        UnreachableState, "unreachable-state", Warning, "a state that no transition leads to";
        CatchDiscardsInput, "catch-discards-input", Warning, "a catcher that discards the state's input";
        CompensationWithoutRetry, "compensation-without-retry", Warning, "a compensating task without retries";
        TaskWithoutTimeout, "task-without-timeout", Warning, "a task without a timeout";
        TaskFailedExcludesTimeout, "task-failed-excludes-timeout", Warning, "States.TaskFailed does not cover timeouts";
        RetryOutlastsTimeout, "retry-outlasts-timeout", Warning, "a retry schedule that is longer than the machine's timeout";
        BusinessErrorRetried, "business-error-retried", Warning, "an error that a catcher expects is retried first";
        LoopWithoutExit, "loop-without-exit", Warning, "states that lead only to each other";
        LambdaErrorsNotRetried, "lambda-errors-not-retried", Warning, "a Lambda task that does not retry transient service errors";
        ChoiceWithoutDefault, "choice-without-default", Warning, "a Choice state that may match nothing";
        UnevaluatedPath, "unevaluated-path", Warning, "a path that is passed on as text, because `.$` is missing";
        TaskTokenUnused, "task-token-unused", Warning, "a callback task that does not pass on its token";
    }
}

impl Rule {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

everstep_source::impl_rule!(Rule);
