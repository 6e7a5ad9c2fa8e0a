//! Each mistake as `ValidateStateMachineDefinition` words it: code, message and location.
//!
//! The table holds what the service was seen to answer; what it says of other mistakes is not known.

use everstep_asl::{Options, Parsed, Source, WorkflowType, parse};
use serde_json::{Value, json};

const SCHEMA: &str = "SCHEMA_VALIDATION_FAILED";

/// The definition breaks one rule of the service, which answers with these words at this location.
#[track_caller]
fn check(definition: &Value, code: &str, message: &str, location: impl Into<Option<&'static str>>) {
    check_all(definition, WorkflowType::Standard, &[(code, message, location.into())]);
}

#[track_caller]
fn check_all(
    definition: &Value,
    workflow_type: WorkflowType,
    expected: &[(&str, &str, Option<&'static str>)],
) {
    let options = Options { workflow_type, ..Options::default() };
    let found = forms(&parse(&Source::new("x.json", definition.to_string()), &options));
    let expected: Vec<_> = expected
        .iter()
        .map(|(code, message, at)| {
            ((*code).to_owned(), (*message).to_owned(), at.map(str::to_owned))
        })
        .collect();
    assert_eq!(found, expected, "{definition:#}");
}

fn forms(parsed: &Parsed) -> Vec<(String, String, Option<String>)> {
    let forms = parsed.diagnostics.iter().filter_map(|diagnostic| diagnostic.service.as_ref());
    forms.map(|f| (f.code.to_owned(), f.message.clone(), f.location.clone())).collect()
}

/// A machine with one state `A`.
fn one(state: Value) -> Value {
    json!({"StartAt": "A", "States": {"A": state}})
}

/// The same, where the machine speaks JSONata.
fn jsonata(state: Value) -> Value {
    json!({"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": state}})
}

fn task(extra: Value) -> Value {
    let mut state = json!({
        "Type": "Task",
        "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f",
        "End": true
    });
    merge(&mut state, extra);
    one(state)
}

/// A distributed Map with these fields besides.
fn map(extra: Value) -> Value {
    let mut state = json!({
        "Type": "Map",
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"},
            "StartAt": "P",
            "States": {"P": {"Type": "Pass", "End": true}}
        },
        "End": true
    });
    merge(&mut state, extra);
    one(state)
}

fn choice(rule: Value) -> Value {
    let mut machine = one(json!({"Type": "Choice", "Choices": [rule], "Default": "B"}));
    machine["States"]["B"] = json!({"Type": "Succeed"});
    machine
}

fn merge(state: &mut Value, extra: Value) {
    let Value::Object(extra) = extra else { panic!("an object") };
    state.as_object_mut().expect("an object").extend(extra);
}

#[test]
fn fields() {
    check(
        &one(json!({"Type": "Pass", "Retry": [], "End": true})),
        SCHEMA,
        "Field 'Retry' is not supported",
        "/States/A",
    );
    check(
        &one(json!({"Type": "Wait", "Seconds": 1, "ResultPath": "$.x", "End": true})),
        SCHEMA,
        "Field 'ResultPath' is not supported",
        "/States/A",
    );
    check(
        &json!({"_comment_x": "", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
        SCHEMA,
        "Field '_comment_x' is not supported",
        "/",
    );
    check_all(
        &json!({"Fn::Sub": "x"}),
        WorkflowType::Standard,
        &[
            (SCHEMA, "These fields are required: [States, StartAt]", Some("/")),
            (SCHEMA, "Field 'Fn::Sub' is not supported", Some("/")),
        ],
    );
    check(
        &json!({"StartAt": "A", "States": {"A": {"Type": "Choice", "Default": "B"}, "B": {"Type": "Succeed"}}}),
        SCHEMA,
        "These fields are required: [Choices]",
        "/States/A",
    );
    check(
        &choice(json!({"Variable": "$.x", "IsPresent": true})),
        SCHEMA,
        "These fields are required: [Next]",
        "/States/A/Choices[0]",
    );
    check(
        &task(json!({"Retry": [{"MaxAttempts": 1}]})),
        SCHEMA,
        "These fields are required: [ErrorEquals]",
        "/States/A/Retry[0]",
    );
    check(
        &task(json!({"Catch": [{"ErrorEquals": ["X"]}]})),
        SCHEMA,
        "These fields are required: [Next]",
        "/States/A/Catch[0]",
    );
    check(
        &one(
            json!({"Type": "Parallel", "Branches": [{"States": {"P": {"Type": "Succeed"}}}], "End": true}),
        ),
        SCHEMA,
        "These fields are required: [StartAt]",
        "/States/A/Branches[0]",
    );
    check(
        &one(json!({"Type": "Map", "ItemProcessor": {"QueryLanguage": "JSONata", "StartAt": "P",
            "States": {"P": {"Type": "Succeed"}}}, "End": true})),
        SCHEMA,
        "Field 'QueryLanguage' is not supported",
        "/States/A/ItemProcessor",
    );
}

#[test]
fn exclusive_fields() {
    let twice = "There should only be one of the following fields:";
    check(
        &json!({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B", "End": true}, "B": {"Type": "Succeed"}}}),
        SCHEMA,
        &format!("{twice} [Next, End]"),
        "/States/A",
    );
    check(
        &one(json!({"Type": "Pass"})),
        SCHEMA,
        "This object should have only one of the following fields: [Next, End]",
        "/States/A",
    );
    for extra in [json!({"Timestamp": "2030-01-01T00:00:00Z"}), json!({"SecondsPath": "$.x"})] {
        let mut state = json!({"Type": "Wait", "Seconds": 1, "End": true});
        merge(&mut state, extra);
        check(
            &one(state),
            SCHEMA,
            &format!("{twice} [SecondsPath, Seconds, TimestampPath, Timestamp]"),
            "/States/A",
        );
    }
    for (state, list) in [
        (
            task(json!({"TimeoutSeconds": 1, "TimeoutSecondsPath": "$.t"})),
            "TimeoutSeconds, TimeoutSecondsPath",
        ),
        (
            task(json!({"HeartbeatSeconds": 1, "HeartbeatSecondsPath": "$.t"})),
            "HeartbeatSeconds, HeartbeatSecondsPath",
        ),
        (
            map(json!({"MaxConcurrency": 1, "MaxConcurrencyPath": "$.t"})),
            "MaxConcurrency, MaxConcurrencyPath",
        ),
        (
            map(json!({"ToleratedFailurePercentage": 1, "ToleratedFailurePercentagePath": "$.t"})),
            "ToleratedFailurePercentage, ToleratedFailurePercentagePath",
        ),
        (
            one(json!({"Type": "Fail", "Error": "E", "ErrorPath": "$.e", "Cause": "c"})),
            "Error, ErrorPath",
        ),
        (
            one(json!({"Type": "Fail", "Error": "E", "Cause": "c", "CausePath": "$.c"})),
            "Cause, CausePath",
        ),
        (
            map(json!({"Iterator": {"StartAt": "Q", "States": {"Q": {"Type": "Succeed"}}}})),
            "ItemProcessor, Iterator",
        ),
    ] {
        check(&state, SCHEMA, &format!("{twice} [{list}]"), "/States/A");
    }
    check(
        &one(json!({"Type": "Map", "End": true})),
        SCHEMA,
        "This object should have only one of the following fields: [ItemProcessor, Iterator]",
        "/States/A",
    );
}

#[test]
fn values() {
    check(
        &one(json!({"Type": "Parallel", "Branches": [], "End": true})),
        SCHEMA,
        "Value cannot be empty",
        "/States/A/Branches",
    );
    check(
        &task(json!({"Retry": [{"ErrorEquals": []}]})),
        SCHEMA,
        "Value cannot be empty",
        "/States/A/Retry[0]/ErrorEquals",
    );
    check(
        &task(json!({"Resource": {"Fn::GetAtt": "x"}})),
        SCHEMA,
        "Expected value of type [STRING]",
        "/States/A/Resource",
    );
    check(
        &task(json!({"TimeoutSeconds": 0})),
        SCHEMA,
        "Minimum value is 1",
        "/States/A/TimeoutSeconds",
    );
    check(
        &one(json!({"Type": "Wait", "Seconds": 100_000_000, "End": true})),
        SCHEMA,
        "Maximum value is 99999999",
        "/States/A/Seconds",
    );
    check(
        &map(json!({"ToleratedFailurePercentage": 101})),
        SCHEMA,
        "Maximum value is 100.0",
        "/States/A/ToleratedFailurePercentage",
    );
    check(
        &map(json!({"ToleratedFailurePercentage": -1})),
        SCHEMA,
        "Minimum value is 0.0",
        "/States/A/ToleratedFailurePercentage",
    );
    check(
        &task(json!({"Retry": [{"ErrorEquals": ["X"], "JitterStrategy": "HALF"}]})),
        SCHEMA,
        "Value should be one of the following: [NONE, FULL]",
        "/States/A/Retry[0]/JitterStrategy",
    );
    check(
        &json!({"QueryLanguage": "jq", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
        SCHEMA,
        "Value should be one of the following: [JSONPath, JSONata]",
        "/QueryLanguage",
    );
    check(
        &json!({"Version": "2.0", "StartAt": "A", "States": {"A": {"Type": "Succeed"}}}),
        SCHEMA,
        "Value should be one of the following: [1.0]",
        "/Version",
    );
    check(
        &one(json!({"Type": "Pas", "End": true})),
        SCHEMA,
        "The field 'Type' should have one of these values: [Task, Wait, Pass, Succeed, Fail, Choice, \
         Parallel, Map]",
        "/States/A/Type",
    );
    check(
        &one(json!({"Type": "Wait", "Timestamp": "tomorrow", "End": true})),
        SCHEMA,
        "String does not match RFC3339 timestamp",
        "/States/A/Timestamp",
    );
}

#[test]
fn choice_rules() {
    let selectors = "The object must have only one of the following fields, [And, Or, Not, Variable, Condition]";
    check(&choice(json!({"Next": "B"})), SCHEMA, selectors, "/States/A/Choices[0]");
    let both =
        json!({"Variable": "$.x", "And": [{"Variable": "$.x", "IsNull": true}], "Next": "B"});
    check(&choice(both), SCHEMA, selectors, "/States/A/Choices[0]");
    let nested = json!({"And": [
        {"Variable": "$.x", "IsPresent": true},
        {"Variable": "$.x", "IsNull": true, "Next": "B"}
    ], "Next": "B"});
    check(&choice(nested), SCHEMA, "Field 'Next' is not supported", "/States/A/Choices[0]/And[1]");
    let operators = json!({"Variable": "$.x", "IsNull": true, "IsString": true, "Next": "B"});
    let found =
        forms(&parse(&Source::new("x.json", choice(operators).to_string()), &Options::default()));
    assert!(
        found[0].1.starts_with("There should only be one of the following fields: [StringEquals, ")
    );
    check(
        &choice(json!({"Variable": "x", "IsNull": true, "Next": "B"})),
        SCHEMA,
        "Value is not a Reference Path: Reference path didn't start with '$'",
        "/States/A/Choices[0]/Variable",
    );
    check(
        &choice(json!({"Variable": "$.x", "StringEqualsPath": "x", "Next": "B"})),
        SCHEMA,
        "Value is not a Reference Path: Reference path didn't start with '$'",
        "/States/A/Choices[0]/StringEqualsPath",
    );
}

#[test]
fn wildcards() {
    let words = "States.ALL must appear alone and at end of list";
    check(
        &task(json!({"Retry": [{"ErrorEquals": ["States.ALL", "X"]}]})),
        SCHEMA,
        words,
        "/States/A/Retry[0]/ErrorEquals[0]",
    );
    check(
        &task(
            json!({"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "A"}, {"ErrorEquals": ["X"], "Next": "A"}]}),
        ),
        SCHEMA,
        words,
        "/States/A/Catch[0]/ErrorEquals[0]",
    );
}

#[test]
fn paths() {
    for name in ["InputPath", "OutputPath"] {
        let mut state = json!({"Type": "Pass", "End": true});
        state[name] = json!("order");
        let location: &'static str =
            if name == "InputPath" { "/States/A/InputPath" } else { "/States/A/OutputPath" };
        check(&one(state), SCHEMA, "Value must be a valid JSONPath.", location);
    }
    check(
        &one(json!({"Type": "Pass", "ResultPath": "$.a[*]", "End": true})),
        SCHEMA,
        "Value is not a Reference Path",
        "/States/A/ResultPath",
    );
    check(
        &map(json!({"ItemsPath": "$..a"})),
        SCHEMA,
        "Value is not a Reference Path",
        "/States/A/ItemsPath",
    );
    check(
        &task(json!({"Parameters": {"x.$": "order"}})),
        SCHEMA,
        "The value for the field 'x.$' must be a valid JSONPath or a valid intrinsic function call",
        "/States/A/Parameters",
    );
    check(
        &one(json!({"Type": "Pass", "Assign": {"x.$": "States.format('')"}, "End": true})),
        SCHEMA,
        "The value for the field 'x.$' must be a valid JSONPath or a valid intrinsic function call",
        "/States/A/Assign",
    );
}

#[test]
fn resources() {
    check(
        &task(json!({"Resource": "no URI"})),
        SCHEMA,
        "Value is not a valid resource ARN",
        "/States/A/Resource",
    );
    for arn in [
        "arn:aws:states:::lambda:invoke.sync",
        "arn:aws:states:::dynamodb:query",
        "arn:aws:states:::glue:startJobRun.waitForTaskToken",
        "arn:aws:states:::ecs:runTask.sync:2",
    ] {
        check(
            &task(json!({"Resource": arn, "Parameters": {}})),
            SCHEMA,
            &format!(
                "The resource provided {arn} is not recognized. The value is not a valid resource ARN, \
                 or the resource is not available in this region."
            ),
            "/States/A/Resource",
        );
    }
    check(
        &task(json!({"Resource": "arn:aws:states:::lambda:invoke"})),
        SCHEMA,
        "Parameters field is required for resource ARN: arn:aws:states:::lambda:invoke",
        "/States/A/Resource",
    );
    check(
        &jsonata(json!({"Type": "Task", "Resource": "arn:aws:states:::sns:publish", "End": true})),
        SCHEMA,
        "Arguments field is required for resource ARN: arn:aws:states:::sns:publish",
        "/States/A/Resource",
    );
    check(
        &task(json!({"Credentials": {}})),
        SCHEMA,
        "The field 'RoleArn' is required but was missing",
        "/States/A/Credentials",
    );
    check(
        &task(json!({
            "Resource": "arn:aws:states:us-east-1:123456789012:activity:a",
            "Credentials": {"RoleArn": "arn:aws:iam::123456789012:role/r"}
        })),
        SCHEMA,
        "The field 'Credentials' is not supported for activities",
        "/States/A/Credentials",
    );
}

#[test]
fn requests() {
    for (resource, request, missing) in [
        ("lambda:invoke", json!({"Payload": {}}), "FunctionName"),
        ("sqs:sendMessage", json!({"QueueUrl.$": "$.url"}), "MessageBody"),
        ("sns:publish", json!({"TopicArn": "x"}), "Message"),
        ("dynamodb:putItem", json!({"TableName": "t"}), "Item"),
        ("dynamodb:getItem", json!({"TableName": "t"}), "Key"),
        ("states:startExecution", json!({"Input": {}}), "StateMachineArn"),
        ("events:putEvents", json!({}), "Entries"),
        ("ecs:runTask", json!({"Cluster": "c"}), "TaskDefinition"),
        ("glue:startJobRun", json!({}), "JobName"),
    ] {
        check(
            &task(
                json!({"Resource": format!("arn:aws:states:::{resource}"), "Parameters": request}),
            ),
            SCHEMA,
            &format!("The field '{missing}' is required but was missing"),
            "/States/A/Parameters",
        );
    }
    for (resource, request, field) in [
        ("aws-sdk:sts:assumeRole", json!({"roleArn.$": "$.role"}), "roleArn"),
        ("events:putEvents", json!({"Entries": [], "endpointId": "x"}), "endpointId"),
    ] {
        check(
            &task(
                json!({"Resource": format!("arn:aws:states:::{resource}"), "Parameters": request}),
            ),
            SCHEMA,
            &format!("The field \"{field}\" is not supported by Step Functions"),
            "/States/A/Parameters",
        );
    }
    check(
        &jsonata(
            json!({"Type": "Task", "Resource": "arn:aws:states:::glue:startJobRun", "Arguments": {}, "End": true}),
        ),
        SCHEMA,
        "The field 'JobName' is required but was missing",
        "/States/A/Arguments",
    );
    let computed = json!({"Type": "Task", "Resource": "arn:aws:states:::glue:startJobRun",
        "Arguments": "{% $states.input %}", "End": true});
    check_all(&jsonata(computed), WorkflowType::Standard, &[]);
}

#[test]
fn express() {
    for (resource, words) in [
        ("arn:aws:states:::states:startExecution.sync", "'.sync' service integration"),
        // The message ends with a space, as the service's does.
        (
            "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
            "'.waitForTaskToken' service integration ",
        ),
        ("arn:aws:states:us-east-1:123456789012:activity:a", "Activity ARN"),
    ] {
        let request =
            json!({"StateMachineArn": "x", "QueueUrl": "x", "MessageBody.$": "$$.Task.Token"});
        let mut state = json!({"Resource": resource});
        if resource.contains(":::") {
            state["Parameters"] = request;
        }
        check_all(
            &task(state),
            WorkflowType::Express,
            &[(
                SCHEMA,
                &format!("Express state machine does not support {words}"),
                Some("/States/A/Resource"),
            )],
        );
    }
    check_all(
        &map(json!({})),
        WorkflowType::Express,
        &[(
            SCHEMA,
            "The field 'Mode' with value 'DISTRIBUTED' is not supported inside 'EXPRESS' state machines",
            Some("/States/A/ItemProcessor/ProcessorConfig/Mode"),
        )],
    );
}

#[test]
fn distributed_maps() {
    let processor = |config| {
        one(
            json!({"Type": "Map", "End": true, "ItemProcessor": {"ProcessorConfig": config, "StartAt": "P",
            "States": {"P": {"Type": "Succeed"}}}}),
        )
    };
    check(
        &processor(json!({"Mode": "DISTRIBUTED"})),
        SCHEMA,
        "These fields are required: [ExecutionType]",
        "/States/A/ItemProcessor/ProcessorConfig",
    );
    check(
        &processor(json!({"Mode": "INLINE", "ExecutionType": "STANDARD"})),
        SCHEMA,
        "Field 'ExecutionType' is not supported",
        "/States/A/ItemProcessor/ProcessorConfig",
    );
    check(
        &processor(json!({"Mode": "DISTRIBUTED", "ExecutionType": "FAST"})),
        SCHEMA,
        "Value should be one of the following: [STANDARD, EXPRESS]",
        "/States/A/ItemProcessor/ProcessorConfig/ExecutionType",
    );
    let reader = |config: Value| {
        map(
            json!({"ItemReader": {"Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": config}}),
        )
    };
    let config = "/States/A/ItemReader/ReaderConfig";
    check(
        &reader(json!({"InputType": "CSV"})),
        SCHEMA,
        "The field 'CSVHeaderLocation' is required",
        config,
    );
    check(
        &reader(json!({"InputType": "CSV", "CSVHeaderLocation": "GIVEN"})),
        SCHEMA,
        "These fields are required: [CSVHeaders]",
        config,
    );
    check(
        &reader(json!({"InputType": "JSON", "CSVHeaderLocation": "FIRST_ROW"})),
        SCHEMA,
        "Field 'CSVHeaderLocation' is not supported",
        config,
    );
    check(
        &reader(json!({"MaxItems": 1, "MaxItemsPath": "$.n"})),
        SCHEMA,
        "There should only be one of the following fields: [MaxItems, MaxItemsPath]",
        config,
    );
    check(
        &reader(json!({"MaxItems": 100_000_001})),
        SCHEMA,
        "Maximum value is 100000000",
        "/States/A/ItemReader/ReaderConfig/MaxItems",
    );
    check(
        &map(json!({"ItemReader": {"Resource": "arn:aws:states:::s3:putObject"}})),
        SCHEMA,
        "The field 'Resource' does not match any of the allowed values",
        "/States/A/ItemReader/Resource",
    );
}

#[test]
fn query_languages() {
    for field in ["InputPath", "OutputPath", "ResultPath", "Parameters", "Result"] {
        let mut state = json!({"Type": "Pass", "End": true});
        state[field] = json!("$");
        check(
            &jsonata(state),
            SCHEMA,
            &format!(
                "The QueryLanguage is set to 'JSONata', but field '{field}' is only supported for the \
                 'JSONPath' QueryLanguage"
            ),
            "/States/A",
        );
    }
    check(
        &one(json!({"Type": "Pass", "Output": {}, "End": true})),
        SCHEMA,
        "The QueryLanguage is set to 'JSONPath', but field 'Output' is only supported for the 'JSONata' \
         QueryLanguage",
        "/States/A",
    );
    check(
        &jsonata(json!({"Type": "Pass", "QueryLanguage": "JSONPath", "End": true})),
        SCHEMA,
        "'QueryLanguage' can not be 'JSONPath' if set to 'JSONata' for whole state machine",
        "/States/A",
    );
}

#[test]
fn jsonata_expressions() {
    let output = |text: &str| jsonata(json!({"Type": "Pass", "Output": {"v": text}, "End": true}));
    for (text, message) in [
        ("{% 1 + %}", "Unexpected end of expression"),
        ("{% [1,2) %}", "Expected \"]\", got \")\""),
        ("{% \"unterminated %}", "String literal must be terminated by a matching quote"),
        ("{% {\"a\":} %}", "The symbol \"}\" cannot be used as a unary operator"),
    ] {
        check(&output(text), "INVALID_JSONATA_EXPRESSION", message, "/States/A/Output/v");
    }
    check(
        &output("{% total %}"),
        "UNSUPPORTED_JSONATA_EXPRESSION",
        "Reference to 'total' at the top level is not supported.",
        "/States/A/Output/v",
    );
    check(
        &output("{% $states.errorOutput %}"),
        "UNSUPPORTED_JSONATA_EXPRESSION",
        "Field '$states.errorOutput' does not exist.",
        "/States/A/Output/v",
    );
    check(
        &output("{% 1"),
        SCHEMA,
        "JSONata string must start with {% and end with %}",
        "/States/A/Output/v",
    );
    for torn in ["{% 1 ", "1 %}", " {% 1 %}", "{% 1 %} ", "{%}"] {
        check(
            &jsonata(json!({"Type": "Wait", "Seconds": torn, "End": true})),
            SCHEMA,
            "JSONata string must start with {% and end with %}",
            "/States/A/Seconds",
        );
    }
    for whole in ["{%1%}", " {% 1 %} ", "100 %", "a %} b"] {
        check_all(&output(whole), WorkflowType::Standard, &[]);
    }
}

#[test]
fn variables() {
    let assign = |name: &str| one(json!({"Type": "Pass", "Assign": {name: 1}, "End": true}));
    check(
        &assign("states"),
        "RESERVED_VARIABLE_NAME",
        "Cannot assign to reserved variable '$states'.",
        "/States/A/Assign",
    );
    check(
        &assign("a-b"),
        "INVALID_VARIABLE_NAME",
        "Invalid variable name 'a-b': the variable name contains invalid characters.",
        "/States/A/Assign",
    );
}

#[test]
fn transitions() {
    const MISSING: &str = "MISSING_TRANSITION_TARGET";
    let target = "Missing 'Next' target: Z";
    check(&one(json!({"Type": "Pass", "Next": "Z"})), MISSING, target, "/States/A/Next");
    check(
        &choice(json!({"Variable": "$.x", "IsNull": true, "Next": "Z"})),
        MISSING,
        target,
        "/States/A/Choices[0]/Next",
    );
    check(
        &task(json!({"Catch": [{"ErrorEquals": ["X"], "Next": "Z"}]})),
        MISSING,
        target,
        "/States/A/Catch[0]/Next",
    );
    check_all(
        &json!({"StartAt": "Not sure", "States": {
            "Pass One": {"Type": "Pass", "Next": "Success"}, "Success": {"Type": "Succeed"}}}),
        WorkflowType::Standard,
        &[
            (MISSING, "Missing 'Next' target: Not sure", Some("/StartAt")),
            (MISSING, "State \"Pass One\" is not reachable.", Some("/States/Pass One")),
        ],
    );
    check_all(
        &json!({"StartAt": "pass1", "States": {
            "pass1": {"Type": "Pass", "Next": "pass3"}, "pass2": {"Type": "Pass", "End": true}}}),
        WorkflowType::Standard,
        &[
            (MISSING, "Missing 'Next' target: pass3", Some("/States/pass1/Next")),
            (MISSING, "State \"pass2\" is not reachable.", Some("/States/pass2")),
        ],
    );
    check(
        &json!({"StartAt": "A", "States": {
            "A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}}}),
        "MISSING_END_STATE",
        "Workflow has no terminal state",
        None,
    );
    check(
        &json!({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"},
            "B": {"Type": "Pass", "Next": "A"}, "C": {"Type": "Succeed"}}}),
        MISSING,
        "State \"C\" is not reachable.",
        "/States/C",
    );
}

#[test]
fn names() {
    let branch = json!({"StartAt": "X", "States": {"X": {"Type": "Succeed"}}});
    check(
        &one(json!({"Type": "Parallel", "Branches": [branch, branch], "End": true})),
        "DUPLICATE_STATE_NAME",
        "Duplicate State name: X",
        "/States/A/Branches[1]/States/X",
    );
    let long = "x".repeat(81);
    let parsed = parse(
        &Source::new(
            "x.json",
            json!({"StartAt": long, "States": {&*long: {"Type": "Succeed"}}}).to_string(),
        ),
        &Options::default(),
    );
    let location = format!("/States/{long}");
    assert_eq!(
        forms(&parsed),
        [(
            "INVALID_STATE_NAME".to_owned(),
            format!(
                "Invalid State name: State '{long}' exceeds the 80-character limit allowed by the service"
            ),
            Some(location)
        )]
    );
    let label = "x".repeat(41);
    check(
        &map(json!({"Label": label})),
        "INVALID_LABEL_NAME",
        &format!(
            "Invalid Label name: Label '{label}' exceeds the 40-character limit allowed by the service"
        ),
        "/States/A/Label",
    );
    let mut two = map(json!({"Label": "l", "Next": "B"}));
    two["States"]["A"].as_object_mut().unwrap().remove("End");
    two["States"]["B"] = map(json!({"Label": "l"}))["States"]["A"].clone();
    two["States"]["B"]["ItemProcessor"]["StartAt"] = json!("Q");
    two["States"]["B"]["ItemProcessor"]["States"] = json!({"Q": {"Type": "Succeed"}});
    check(&two, "DUPLICATE_LABEL_NAME", "Duplicate Label name: l", "/States/B/Label");
}

#[test]
fn texts() {
    let parsed = parse(&Source::new("x.json", "[]"), &Options::default());
    assert_eq!(forms(&parsed)[0].1, "Definition must be a valid JSON object");
    let parsed = parse(&Source::new("x.json", "not a definition"), &Options::default());
    assert_eq!(forms(&parsed)[0].0, "INVALID_JSON_DESCRIPTION");
    assert!(forms(&parsed)[0].1.starts_with("Unrecognized token 'not'"), "{:?}", forms(&parsed));
}
