//! Requests and what comes of them, by status, level and refusal.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{Dialect, Identity, TokenKey};

fn identity() -> Identity {
    Identity {
        execution_arn: Arc::from("arn:aws:states:us-east-1:111111111111:express:m:e"),
        execution_name: Arc::from("e"),
        role_arn: Arc::from("arn:aws:iam::111111111111:role/r"),
        machine_arn: Arc::from("arn:aws:states:us-east-1:111111111111:stateMachine:m"),
        machine_name: Arc::from("m"),
        token_key: TokenKey::default(),
    }
}

fn request(definition: Value) -> Request {
    Request { dialect: Dialect::Aws, ..Request::new(definition.to_string(), identity()) }
}

fn result(value: Value) -> Option<Mock> {
    Some(Mock { result: Some(value.to_string()), ..Mock::default() })
}

fn error(name: &str) -> Option<Mock> {
    let error = MockError { error: Some(name.to_owned()), cause: Some("why".to_owned()) };
    Some(Mock { error_output: Some(error), ..Mock::default() })
}

/// Either the response, with data decoded, or the code and message of the refusal.
fn check(request: &Request, expected: Value) {
    let found = match test_state(request) {
        Ok(Tested::Done(response)) => decoded(response.to_value()),
        Ok(Tested::Calls(call)) => {
            json!({ "calls": call.resource.as_str(), "with": call.parameters.value() })
        }
        Err(error) => json!([error.code.name(), error.message]),
    };
    assert_eq!(found, expected);
}

fn decoded(mut response: Value) -> Value {
    decode(&mut response, "output");
    let data = response["inspectionData"].as_object().cloned().unwrap_or_default();
    for name in data.keys() {
        decode(&mut response["inspectionData"], name);
    }
    if response["inspectionData"].is_null() {
        response.as_object_mut().expect("an object").remove("inspectionData");
    }
    response
}

fn decode(object: &mut Value, name: &str) {
    if let Some(text) = object[name].as_str() {
        object[name] = serde_json::from_str(text).expect("data is the text of JSON");
    } else if object[name].is_null() {
        object.as_object_mut().expect("an object").remove(name);
    }
}

fn task() -> Value {
    json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": { "QueueUrl": "q", "MessageBody.$": "$.body" },
        "Retry": [
            { "ErrorEquals": ["Never"] },
            { "ErrorEquals": ["Again"], "IntervalSeconds": 3, "MaxAttempts": 2, "BackoffRate": 2 },
        ],
        "Catch": [
            { "ErrorEquals": ["Never"], "Next": "A" },
            { "ErrorEquals": ["States.ALL"], "ResultPath": "$.e", "Next": "B" },
        ],
        "Next": "C",
    })
}

fn with_body(definition: Value) -> Request {
    Request { input: Some(r#"{"body":"b"}"#.to_owned()), ..request(definition) }
}

#[test]
fn a_state_succeeds() {
    let request = Request { mock: result(json!({ "MessageId": "1" })), ..with_body(task()) };
    let output = json!({ "MessageId": "1" });
    check(&request, json!({ "status": "SUCCEEDED", "output": output, "nextState": "C" }));
}

#[test]
fn a_failure_is_retried_while_its_retrier_has_attempts() {
    let mut request = Request { mock: error("Again"), level: Level::Debug, ..with_body(task()) };
    let expected = |details: Value| {
        let data = json!({
            "input": { "body": "b" }, "afterInputPath": { "body": "b" },
            "afterParameters": { "QueueUrl": "q", "MessageBody": "b" }, "errorDetails": details,
        });
        json!({ "status": "RETRIABLE", "error": "Again", "cause": "why", "inspectionData": data })
    };
    check(&request, expected(json!({ "retryIndex": 1, "retryBackoffIntervalSeconds": 3 })));
    request.configuration.retrier_retry_count = 1;
    check(&request, expected(json!({ "retryIndex": 1, "retryBackoffIntervalSeconds": 6 })));
    request.configuration.retrier_retry_count = 2;
    let mut caught = expected(json!({ "catchIndex": 1, "retryIndex": 1 }));
    caught["status"] = json!("CAUGHT_ERROR");
    caught["output"] = json!({ "body": "b", "e": { "Error": "Again", "Cause": "why" } });
    caught["nextState"] = json!("B");
    check(&request, caught);
}

#[test]
fn a_failure_that_nothing_takes_fails_the_state() {
    let mut definition = task();
    definition["Catch"].as_array_mut().expect("catchers").pop();
    let request = Request { mock: error("Other"), ..with_body(definition) };
    check(&request, json!({ "status": "FAILED", "error": "Other", "cause": "why" }));
}

#[test]
fn a_fault_is_reported_without_an_event() {
    let mut definition = task();
    definition["Parameters"]["MessageBody.$"] = json!("$.nothing");
    let request = Request { mock: result(json!({})), level: Level::Trace, ..with_body(definition) };
    let cause = "The JSONPath '$.nothing' specified for the field 'MessageBody.$' could not be \
                 found in the input '{\"body\":\"b\"}'";
    let data = json!({ "input": { "body": "b" }, "afterInputPath": { "body": "b" } });
    let expected = json!({
        "status": "FAILED", "error": "States.Runtime", "cause": cause, "inspectionData": data,
    });
    check(&request, expected);
}

#[test]
fn data_is_shown_on_its_way() {
    let definition = json!({
        "Type": "Pass", "InputPath": "$.in", "Parameters": { "p.$": "$.x" }, "ResultPath": "$.out",
        "Assign": { "v.$": "$.p" }, "End": true,
    });
    let input = json!({ "in": { "x": 1 } });
    let request = Request {
        input: Some(input.to_string()),
        variables: Some(r#"{"old":true,"v":0}"#.to_owned()),
        level: Level::Debug,
        ..request(definition)
    };
    let output = json!({ "in": { "x": 1 }, "out": { "p": 1 } });
    let data = json!({
        "input": input, "afterInputPath": { "x": 1 }, "afterParameters": { "p": 1 },
        "afterResultSelector": { "p": 1 }, "afterResultPath": output,
        "variables": { "old": true, "v": 1 },
    });
    let expected = json!({ "status": "SUCCEEDED", "output": output, "inspectionData": data });
    check(&request, expected);
}

#[test]
fn a_jsonata_state_shows_arguments_and_result() {
    let definition = json!({
        "Type": "Task", "QueryLanguage": "JSONata",
        "Resource": "arn:aws:lambda:us-east-1:111111111111:function:f",
        "Arguments": { "a": "{% $states.input.x + $y %}" },
        "Output": "{% $states.result.r & $states.context.State.Name %}", "End": true,
    });
    let request = Request {
        input: Some(r#"{"x":1}"#.to_owned()),
        variables: Some(r#"{"y":2}"#.to_owned()),
        mock: result(json!({ "r": "from " })),
        level: Level::Trace,
        ..request(definition)
    };
    let data = json!({
        "input": { "x": 1 }, "afterArguments": { "a": 3 }, "result": { "r": "from " },
        "variables": { "y": 2 },
    });
    let output = "from StateName";
    check(&request, json!({ "status": "SUCCEEDED", "output": output, "inspectionData": data }));
}

fn map() -> Value {
    json!({
        "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2,
        "ItemSelector": { "i.$": "$$.Map.Item.Index", "v.$": "$$.Map.Item.Value" },
        "ItemBatcher": { "MaxItemsPerBatch": 2 },
        "ToleratedFailurePercentage": 50,
        "ItemProcessor": {
            "ProcessorConfig": { "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" },
            "StartAt": "Inner", "States": { "Inner": { "Type": "Pass", "End": true } },
        },
        "End": true,
    })
}

fn mapped() -> Request {
    Request {
        input: Some(r#"{"items":["a","b","c"]}"#.to_owned()),
        mock: result(json!([1, 2])),
        level: Level::Debug,
        ..request(map())
    }
}

fn map_data() -> Value {
    let (first, second, third) =
        (json!({ "i": 0, "v": "a" }), json!({ "i": 1, "v": "b" }), json!({ "i": 2, "v": "c" }));
    json!({
        "input": { "items": ["a", "b", "c"] }, "afterInputPath": { "items": ["a", "b", "c"] },
        "afterItemsPath": ["a", "b", "c"], "afterItemSelector": [first, second, third],
        "afterItemBatcher": [{ "Items": [first, second] }, { "Items": [third] }],
        "maxConcurrency": 2, "toleratedFailurePercentage": 50.0,
    })
}

#[test]
fn a_map_shows_what_its_iterations_get() {
    let mut data = map_data();
    data["afterResultSelector"] = json!([1, 2]);
    data["afterResultPath"] = json!([1, 2]);
    check(&mapped(), json!({ "status": "SUCCEEDED", "output": [1, 2], "inspectionData": data }));
}

#[test]
fn a_map_fails_when_more_iterations_failed_than_it_takes() {
    let mut request = mapped();
    request.configuration.map_iteration_failure_count = Some(2);
    let expected = json!({
        "status": "FAILED", "error": "States.ExceedToleratedFailureThreshold",
        "cause": "The specified tolerated failure threshold was exceeded",
        "inspectionData": map_data(),
    });
    check(&request, expected);
    request.configuration.map_iteration_failure_count = Some(4);
    let refusal = "mapIterationFailureCount is 4, and the Map state has 3 items";
    check(&request, json!(["ValidationException", refusal]));
}

#[test]
fn the_items_of_a_reader_are_given() {
    let mut definition = map();
    definition["ItemReader"] = json!({
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": { "InputType": "JSON", "ItemsPointer": "/rows", "MaxItems": 1 },
        "Parameters": { "Bucket": "b", "Key": "k" },
    });
    for field in ["ItemsPath", "ItemBatcher"] {
        definition.as_object_mut().expect("a state").remove(field);
    }
    let mut request = Request { definition: definition.to_string(), ..mapped() };
    request.configuration.map_item_reader_data = Some(r#"{"rows":[7,8]}"#.to_owned());
    let Ok(Tested::Done(response)) = test_state(&request) else { panic!("a response") };
    let data = &decoded(response.to_value())["inspectionData"];
    assert_eq!(data["afterItemsPointer"], json!([7, 8]));
    assert_eq!(data["afterItemSelector"], json!([{ "i": 0, "v": 7 }]));
}

#[test]
fn a_task_without_a_mock_is_handed_out_and_goes_on_with_the_answer() {
    let mut request = with_body(task());
    let parameters = json!({ "QueueUrl": "q", "MessageBody": "b" });
    check(&request, json!({ "calls": "arn:aws:states:::sqs:sendMessage", "with": parameters }));
    request.answer = Some(Ok(Payload::new(json!(7))));
    check(&request, json!({ "status": "SUCCEEDED", "output": 7, "nextState": "C" }));
    request.answer = Some(Err(crate::Failure::new("Again", "why")));
    check(&request, json!({ "status": "RETRIABLE", "error": "Again", "cause": "why" }));
}

#[test]
fn other_states_pass_on() {
    let wait = json!({ "Type": "Wait", "SecondsPath": "$.s", "Next": "N" });
    let request_of = |definition: Value, input: &str| Request {
        input: Some(input.to_owned()),
        level: Level::Debug,
        ..request(definition)
    };
    let data = |input: &Value| json!({ "input": input, "afterInputPath": input });
    let input = json!({ "s": 100_000 });
    check(
        &request_of(wait, &input.to_string()),
        json!({ "status": "SUCCEEDED", "output": input, "nextState": "N", "inspectionData": data(&input) }),
    );
    check(
        &request_of(json!({ "Type": "Fail", "Error": "E", "CausePath": "$.c" }), r#"{"c":"why"}"#),
        json!({ "status": "FAILED", "error": "E", "cause": "why", "inspectionData": data(&json!({ "c": "why" })) }),
    );
    let choice = json!({
        "Type": "Choice", "Choices": [{ "Variable": "$.s", "IsPresent": true, "Next": "Yes" }],
    });
    check(
        &request_of(choice.clone(), &input.to_string()),
        json!({ "status": "SUCCEEDED", "output": input, "nextState": "Yes", "inspectionData": data(&input) }),
    );
    let cause = "Failed to transition out of the state. The state does not point to a next state.";
    check(
        &request_of(choice, "{}"),
        json!({ "status": "FAILED", "error": "States.Runtime", "cause": cause, "inspectionData": data(&json!({})) }),
    );
    let succeed = json!({ "Type": "Succeed", "OutputPath": "$.s" });
    check(
        &request_of(succeed, &input.to_string()),
        json!({ "status": "SUCCEEDED", "output": 100_000, "inspectionData": data(&input) }),
    );
}

#[test]
fn a_state_is_found_by_name_wherever_it_is() {
    let machine = json!({ "StartAt": "Outer", "States": { "Outer": map() } });
    let mut request = Request { state_name: Some("Inner".to_owned()), ..request(machine) };
    check(&request, json!({ "status": "SUCCEEDED", "output": {} }));
    request.state_name = Some("Nowhere".to_owned());
    check(&request, json!(["ValidationException", "State not found in definition"]));
    request.state_name = Some(String::new());
    let refusal = "1 validation error detected: Value '' at 'stateName' failed to satisfy \
                   constraint: Member must have length greater than or equal to 1";
    check(&request, json!(["ValidationException", refusal]));
}

#[test]
fn a_wrong_definition_is_refused() {
    let refusal = "Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: Value cannot be \
                   empty at /States/StateName/Branches'";
    let parallel = json!({ "Type": "Parallel", "Branches": [], "End": true });
    check(&request(parallel), json!(["InvalidDefinition", refusal]));
    for text in ["", "[", "1", "}", "{}}", "{\"Type\": \"Pass\"}, \"x\": {}"] {
        let request = Request::new(text, identity());
        let error = test_state(&request).expect_err("no state");
        assert_eq!(error.code, Code::InvalidDefinition, "{text}: {}", error.message);
    }
}

#[test]
fn wrong_data_is_refused() {
    let pass = json!({ "Type": "Pass", "End": true });
    let input = Request { input: Some("{".to_owned()), ..request(pass.clone()) };
    assert_eq!(test_state(&input).expect_err("no JSON").code, Code::InvalidExecutionInput);
    let refusal = "Variables must be a JSON object of names and values";
    let variables = Request { variables: Some("[]".to_owned()), ..request(pass) };
    check(&variables, json!(["ValidationException", refusal]));
}

#[test]
fn a_mock_must_fit_the_state() {
    let refused = |definition: Value, mock: Option<Mock>, message: &str| {
        let request = Request { mock, ..request(definition) };
        check(&request, json!(["ValidationException", message]));
    };
    for kind in ["Pass", "Succeed", "Wait"] {
        let mut definition = json!({ "Type": kind });
        if kind == "Wait" {
            definition["Seconds"] = json!(1);
        }
        let message = format!("State type '{kind}' is not supported when a mock is specified");
        refused(definition, result(json!(1)), &message);
    }
    let text = Some(Mock { result: Some("no".to_owned()), ..Mock::default() });
    refused(task(), text, "Mocked result must be valid JSON");
    let both = Mock { result: Some("1".to_owned()), ..error("E").expect("a mock") };
    let message =
        "A test mock should have only one of the following fields: [result, errorOutput].";
    refused(task(), Some(both), message);
    let message = "A test mock should have one of the following fields: [result, errorOutput].";
    refused(task(), Some(Mock::default()), message);
    refused(map(), result(json!({})), "Mocked result must be an array.");
    let mut exports = map();
    exports["ResultWriter"] = json!({
        "Resource": "arn:aws:states:::s3:putObject", "Parameters": { "Bucket": "b", "Prefix": "p" },
    });
    refused(exports, result(json!([])), "Mocked result must be a JSON object.");
    let branch = json!({ "StartAt": "B", "States": { "B": { "Type": "Pass", "End": true } } });
    let parallel = json!({ "Type": "Parallel", "Branches": [branch], "End": true });
    let message =
        "Mocked result must contain the same number of items as number of Parallel branches.";
    refused(parallel, result(json!([1, 2])), message);
}

#[test]
fn a_mocked_result_is_what_the_action_returns() {
    let mut request = Request { mock: result(json!({ "MessageId": 1 })), ..with_body(task()) };
    let message = "Mock result schema validation error: Field 'MessageId' must be a string";
    check(&request, json!(["ValidationException", message]));
    if let Some(mock) = &mut request.mock {
        mock.field_validation = FieldValidation::None;
    }
    let output = json!({ "MessageId": 1 });
    check(&request, json!({ "status": "SUCCEEDED", "output": output, "nextState": "C" }));
}

#[test]
fn what_cannot_be_checked_is_said() {
    let definition = json!({
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:braket:getJob",
        "Parameters": { "JobArn": "j" }, "End": true,
    });
    let request = Request { mock: result(json!({})), ..request(definition) };
    let Ok(Tested::Done(response)) = test_state(&request) else { panic!("a response") };
    let said = "the mocked result was not checked: what braket:getJob returns is not known here";
    assert_eq!(response.unchecked.as_deref(), Some(said));
}

#[test]
fn some_states_need_a_mock() {
    let message = "TestState API does not support Map or Parallel states. Supported state types \
                   include: [Task, Wait, Pass, Succeed, Fail, Choice]";
    check(&request(map()), json!(["InvalidDefinition", message]));
    let mut waits = task();
    waits["Resource"] = json!("arn:aws:states:::sqs:sendMessage.waitForTaskToken");
    waits["Parameters"]["MessageBody.$"] = json!("$$.Task.Token");
    let message =
        "TestState API does not support the .waitForTaskToken pattern unless a mock is specified";
    check(&request(waits), json!(["InvalidDefinition", message]));
    let mut activity = task();
    activity["Resource"] = json!("arn:aws:states:us-east-1:111111111111:activity:a");
    let message = "TestState API does not support Activity tasks unless a mock is specified";
    check(&request(activity), json!(["InvalidDefinition", message]));
}

#[test]
fn some_parameters_need_a_mock_and_one_excludes_it() {
    let refused = |request: Request, message: &str| {
        check(&request, json!(["ValidationException", message]));
    };
    let context = Request { context: Some("{}".to_owned()), ..with_body(task()) };
    refused(context, "Context can only be specified together with a mock");
    let mut configured = with_body(task());
    configured.configuration.map_iteration_failure_count = Some(0);
    refused(configured, "State configuration can only be specified together with a mock");
    let reveals = Request { mock: error("E"), reveal_secrets: true, ..with_body(task()) };
    refused(reveals, "TestState does not support RevealSecrets when a mock is specified.");
    let nobody = Identity { role_arn: Arc::from(""), ..identity() };
    let mut anonymous = Request { identity: nobody, ..with_body(task()) };
    refused(anonymous.clone(), "RoleArn must be specified when testing a Task state");
    anonymous.mock = error("E");
    assert!(test_state(&anonymous).is_ok());
    anonymous = Request { definition: r#"{"Type":"Succeed"}"#.to_owned(), mock: None, ..anonymous };
    assert!(test_state(&anonymous).is_ok());
    let mut caused = Request { mock: error("E"), ..mapped() };
    caused.configuration.error_caused_by_state = Some("Outer".to_owned());
    let message =
        "errorCausedByState must name a state inside the tested state, and 'Outer' is none";
    refused(caused, message);
}

#[test]
fn a_given_context_takes_the_place_of_the_own() {
    let mut definition = task();
    definition["ResultSelector"] = json!({ "c.$": "$$" });
    let given = |context: Value| Request {
        mock: result(json!({})),
        context: Some(context.to_string()),
        ..with_body(definition.clone())
    };
    let succeeds = |context: Value| {
        let expected =
            json!({ "status": "SUCCEEDED", "output": { "c": context }, "nextState": "C" });
        check(&given(context), expected);
    };
    succeeds(json!({}));
    succeeds(json!({ "Execution": { "Input": [1] }, "State": { "RetryCount": 3 } }));
    let refused = |context: Value, why: &str| {
        let message = format!("Invalid Context object provided: {why}");
        check(&given(context), json!(["ValidationException", message]));
    };
    refused(json!({ "Execution": { "Id": 1 } }), "Execution.Id must be a string");
    refused(json!({ "State": { "RetryCount": "1" } }), "State.RetryCount must be a number");
    refused(json!({ "State": 1 }), "State must be an object");
    refused(json!({ "Other": {} }), "Field 'Other' is not allowed");
    refused(json!({ "State": { "Other": 1 } }), "Field 'State.Other' is not allowed");
    refused(json!([]), "must be a JSON object");
    refused(json!({ "Map": {} }), "'Map' field is not supported when mocking a Context object");
    let why = "Context object contains 'Task' when state is not a Task state with a '.sync' or \
               '.waitForTaskToken' service integration pattern";
    refused(json!({ "Task": { "Token": "t" } }), why);
}
