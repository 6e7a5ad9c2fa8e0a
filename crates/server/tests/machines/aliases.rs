//! Aliases: where they lead, and what keeps them from leading nowhere.

use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, machine_arn};

const MISSING: &str = "ResourceNotFound: Request references a resource that does not exist.";

fn alias(name: &str, routes: &[(&str, u32)]) -> Value {
    json!({ "name": name, "routingConfiguration": routing(routes) })
}

fn routing(routes: &[(&str, u32)]) -> Value {
    let route =
        |(arn, weight): &(&str, u32)| json!({ "stateMachineVersionArn": arn, "weight": weight });
    routes.iter().map(route).collect()
}

fn named(arn: &str) -> Value {
    json!({ "stateMachineAliasArn": arn })
}

#[tokio::test]
async fn an_alias_is_created_described_updated_and_deleted() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let (one, two) =
        (fixture.publish_changed(&arn, "a").await, fixture.publish_changed(&arn, "b").await);
    let prod = format!("{arn}:PROD");
    let created = json!({ "stateMachineAliasArn": prod, "creationDate": NOW });
    fixture.check("CreateStateMachineAlias", alias("PROD", &[(&one, 100)]), created.clone()).await;
    fixture.pass_seconds(1);
    fixture.check("CreateStateMachineAlias", alias("PROD", &[(&one, 100)]), created).await;
    let different = alias("PROD", &[(&two, 100)]);
    let expected = "ConflictException: Failed to create alias because an alias with the same name \
                    and a different routing configuration already exists.";
    fixture.refused("CreateStateMachineAlias", different, expected).await;
    let routes = [(one.as_str(), 30), (two.as_str(), 70)];
    let update = json!({ "stateMachineAliasArn": prod, "description": "d",
        "routingConfiguration": routing(&routes) });
    fixture
        .check("UpdateStateMachineAlias", update.clone(), json!({ "updateDate": NOW + 1.0 }))
        .await;
    fixture.pass_seconds(1);
    fixture.check("UpdateStateMachineAlias", update, json!({ "updateDate": NOW + 1.0 })).await;
    let described = json!({
        "stateMachineAliasArn": prod,
        "name": "PROD",
        "routingConfiguration": routing(&routes),
        "creationDate": NOW,
        "updateDate": NOW + 1.0,
        "description": "d",
    });
    fixture.check("DescribeStateMachineAlias", named(&prod), described).await;
    let machine = fixture.call("DescribeStateMachine", json!({ "stateMachineArn": prod })).await;
    assert_eq!(machine["stateMachineArn"], two.as_str());
    fixture.check("DeleteStateMachineAlias", named(&prod), json!({})).await;
    fixture.check("DeleteStateMachineAlias", named(&prod), json!({})).await;
    for operation in ["DescribeStateMachineAlias", "UpdateStateMachineAlias"] {
        let body = json!({ "stateMachineAliasArn": prod, "description": "d" });
        fixture.refused(operation, body, MISSING).await;
    }
    let nowhere = format!("{}:PROD", machine_arn("none"));
    fixture.refused("DeleteStateMachineAlias", named(&nowhere), MISSING).await;
}

#[tokio::test]
async fn executions_go_where_their_alias_leads() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let (one, two) =
        (fixture.publish_changed(&arn, "a").await, fixture.publish_changed(&arn, "b").await);
    fixture.call("CreateStateMachineAlias", alias("PROD", &[(&one, 0), (&two, 100)])).await;
    let prod = format!("{arn}:PROD");
    for _ in 0..20 {
        let started = fixture.call("StartExecution", json!({ "stateMachineArn": prod })).await;
        let body = json!({ "executionArn": started["executionArn"] });
        let execution = fixture.call("DescribeExecution", body).await;
        assert_eq!(execution["stateMachineVersionArn"], two.as_str());
        assert_eq!(execution["stateMachineAliasArn"], prod.as_str());
    }
}

#[tokio::test]
async fn routes_that_lead_nowhere_are_refused() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let (one, two) =
        (fixture.publish_changed(&arn, "a").await, fixture.publish_changed(&arn, "b").await);
    let other = fixture.machine("n").await;
    let foreign = fixture.publish_changed(&other, "a").await;
    let none = format!("{arn}:9");
    let prod = format!("{arn}:PROD");
    let activity = arn.replace("stateMachine", "activity");
    let invalid = "ValidationException: ";
    let versions = "ValidationException: Routing configuration must contain state machine version \
                    ARNs. Received: ";
    let cases: Vec<(Vec<(&str, u32)>, String)> = vec![
        (
            vec![(&one, 50), (&two, 49)],
            format!(
                "{invalid}Sum of routing configuration weights must equal 100. Received: [50, 49]"
            ),
        ),
        (
            vec![(&one, 99)],
            format!("{invalid}Sum of routing configuration weights must equal 100. Received: [99]"),
        ),
        (
            vec![(&one, 50), (&one, 50)],
            format!(
                "{invalid}Routing configuration must contain distinct state machine version ARNs. \
                 Received: [{one}, {one}]"
            ),
        ),
        (
            vec![(&one, 50), (&foreign, 50)],
            format!("{invalid}Routes must lead to versions of the same state machine"),
        ),
        (vec![(&prod, 100)], format!("{versions}[{prod}]")),
        (vec![(&none, 100)], MISSING.to_owned()),
        (vec![(&arn, 100)], format!("{versions}[{arn}]")),
        (vec![(&arn, 70), (&two, 30)], format!("{versions}[{arn}, {two}]")),
        (
            vec![(&activity, 100)],
            format!(
                "InvalidArn: Invalid Arn: 'Resource type not valid in this context: {activity}'"
            ),
        ),
    ];
    fixture.call("CreateStateMachineAlias", alias("KNOWN", &[(&one, 100)])).await;
    for (routes, expected) in cases {
        fixture.refused("CreateStateMachineAlias", alias("PROD", &routes), &expected).await;
        let update = json!({ "stateMachineAliasArn": format!("{arn}:KNOWN"),
            "routingConfiguration": routing(&routes) });
        fixture.refused("UpdateStateMachineAlias", update, &expected).await;
    }
    let gone = format!("{}:1", machine_arn("none"));
    fixture.refused("CreateStateMachineAlias", alias("PROD", &[(&gone, 100)]), MISSING).await;
    let known = format!("{arn}:KNOWN");
    let elsewhere = json!({ "stateMachineAliasArn": known,
        "routingConfiguration": routing(&[(&foreign, 100)]) });
    let expected = "ValidationException: Routes must lead to versions of the alias's state machine";
    fixture.refused("UpdateStateMachineAlias", elsewhere, expected).await;
    let expected = "ValidationException: Either the description or the routing configuration must be \
                    specified";
    fixture.refused("UpdateStateMachineAlias", named(&known), expected).await;
}

#[tokio::test]
async fn a_reason_is_given_for_wrong_routes() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let one = fixture.publish_changed(&arn, "a").await;
    let body = alias("PROD", &[(&one, 1)]);
    let operation = everstep_api::protocol::Operation::CreateStateMachineAlias;
    let error = fixture.service.call(operation, &body).await.expect_err("the weight is wrong");
    let answer = everstep_api::protocol::Answer::error(&error, "id");
    assert!(answer.body.contains(r#""reason":"INVALID_ROUTING_CONFIGURATION""#), "{}", answer.body);
}

#[tokio::test]
async fn a_machine_has_so_many_aliases() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let one = fixture.publish_changed(&arn, "a").await;
    for number in 0..100 {
        let name = format!("alias-{number}");
        fixture.call("CreateStateMachineAlias", alias(&name, &[(&one, 100)])).await;
    }
    let more = alias("more", &[(&one, 100)]);
    let expected = "ServiceQuotaExceededException: The state machine has 100 aliases: delete one to \
                    create another";
    fixture.refused("CreateStateMachineAlias", more.clone(), expected).await;
    fixture.call("DeleteStateMachineAlias", named(&format!("{arn}:alias-7"))).await;
    fixture.call("CreateStateMachineAlias", more).await;
}

#[tokio::test]
async fn aliases_are_listed_of_machines_and_of_versions() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let (one, two) =
        (fixture.publish_changed(&arn, "a").await, fixture.publish_changed(&arn, "b").await);
    for (name, routes) in [
        ("first", vec![(one.as_str(), 100)]),
        ("second", vec![(two.as_str(), 100)]),
        ("both", vec![(one.as_str(), 50), (two.as_str(), 50)]),
    ] {
        fixture.call("CreateStateMachineAlias", alias(name, &routes)).await;
        fixture.pass_seconds(1);
    }
    let listed = |answer: &Value| -> Vec<String> {
        let all = answer["stateMachineAliases"].as_array().expect("a list");
        let arn = |alias: &Value| alias["stateMachineAliasArn"].as_str().map(str::to_owned);
        all.iter()
            .filter_map(arn)
            .map(|arn| arn.rsplit(':').next().unwrap_or("").to_owned())
            .collect()
    };
    for (of, expected) in [
        (&arn, vec!["first", "second", "both"]),
        (&one, vec!["first", "both"]),
        (&two, vec!["second", "both"]),
    ] {
        let mut body = json!({ "stateMachineArn": of });
        let all = fixture.call("ListStateMachineAliases", body.clone()).await;
        assert_eq!(listed(&all), expected);
        body["maxResults"] = 1.into();
        let mut found = Vec::new();
        loop {
            let page = fixture.call("ListStateMachineAliases", body.clone()).await;
            found.extend(listed(&page));
            match page.get("nextToken") {
                Some(token) => body["nextToken"] = token.clone(),
                None => break,
            }
        }
        assert_eq!(found, expected);
    }
    let none = machine_arn("none");
    let expected = format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{none}'");
    let body = json!({ "stateMachineArn": none });
    fixture.refused("ListStateMachineAliases", body, &expected).await;
    let version = format!("{arn}:9");
    let body = json!({ "stateMachineArn": version });
    fixture.refused("ListStateMachineAliases", body, MISSING).await;
    let body = json!({ "stateMachineArn": arn, "nextToken": "x" });
    let expected = "InvalidToken: Invalid Token: 'Invalid token'";
    fixture.refused("ListStateMachineAliases", body, expected).await;
}
