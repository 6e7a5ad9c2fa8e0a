// The AWS SDK for JavaScript against a real `everstep serve`, whose address is in EVERSTEP_URL.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import * as sdk from "@aws-sdk/client-sfn";

const ROLE = "arn:aws:iam::123456789012:role/everstep";
const DEADLINE_MS = 60_000;

// The SDK puts `sync-` before the host of StartSyncExecution and TestState unless it is told not to.
const sfn = new sdk.SFNClient({
  endpoint: process.env.EVERSTEP_URL,
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
  disableHostPrefix: true,
});

const call = (operation, request = {}) => sfn.send(new sdk[`${operation}Command`](request));

const definition = (state) => JSON.stringify({ StartAt: "Only", States: { Only: { End: true, ...state } } });

async function machine(state, more = {}) {
  const made = await call("CreateStateMachine", {
    name: `js-${randomUUID()}`,
    definition: definition(state),
    roleArn: ROLE,
    ...more,
  });
  return made.stateMachineArn;
}

async function ended(executionArn) {
  const deadline = Date.now() + DEADLINE_MS;
  while (Date.now() < deadline) {
    const found = await call("DescribeExecution", { executionArn });
    if (found.status !== "RUNNING") return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${executionArn} did not end`);
}

test("create, start, describe, history, list", async () => {
  const stateMachineArn = await machine({ Type: "Pass", Result: { ü: "…" } });
  const started = await call("StartExecution", { stateMachineArn, name: "one", input: '{"n":1}' });
  assert.ok(started.startDate instanceof Date);
  const found = await ended(started.executionArn);
  assert.equal(found.status, "SUCCEEDED");
  assert.deepEqual(JSON.parse(found.output), { ü: "…" });

  const types = [];
  for await (const page of sdk.paginateGetExecutionHistory({ client: sfn, pageSize: 2 }, found)) {
    types.push(...page.events.map((event) => event.type));
  }
  assert.deepEqual(types, ["ExecutionStarted", "PassStateEntered", "PassStateExited", "ExecutionSucceeded"]);

  const listed = await call("ListExecutions", { stateMachineArn, statusFilter: "SUCCEEDED" });
  assert.deepEqual(listed.executions.map((row) => row.name), ["one"]);
  const arns = [];
  for await (const page of sdk.paginateListStateMachines({ client: sfn, pageSize: 1 }, {})) {
    arns.push(...page.stateMachines.map((row) => row.stateMachineArn));
  }
  assert.ok(arns.includes(stateMachineArn));
});

test("stop", async () => {
  const stateMachineArn = await machine({ Type: "Wait", Seconds: 3600 });
  const { executionArn } = await call("StartExecution", { stateMachineArn });
  const stopped = await call("StopExecution", { executionArn, error: "Enough", cause: "of it" });
  const found = await ended(executionArn);
  assert.deepEqual([found.status, found.error, found.cause], ["ABORTED", "Enough", "of it"]);
  assert.equal(found.stopDate.getTime(), stopped.stopDate.getTime());
});

test("an activity worker", async () => {
  const { activityArn } = await call("CreateActivity", { name: `js-${randomUUID()}` });
  const stateMachineArn = await machine({ Type: "Task", Resource: activityArn });
  const polled = call("GetActivityTask", { activityArn, workerName: "js" });
  const { executionArn } = await call("StartExecution", { stateMachineArn, input: '{"n":20}' });
  const task = await polled;
  await call("SendTaskHeartbeat", { taskToken: task.taskToken });
  const output = JSON.stringify(JSON.parse(task.input).n + 1);
  await call("SendTaskSuccess", { taskToken: task.taskToken, output });
  assert.equal((await ended(executionArn)).output, "21");
  await assert.rejects(call("SendTaskFailure", { taskToken: task.taskToken }), sdk.TaskTimedOut);
});

test("errors have classes, names and messages", async () => {
  const executionArn = "arn:aws:states:us-east-1:123456789012:execution:none:none";
  await assert.rejects(call("DescribeExecution", { executionArn }), (error) => {
    assert.ok(error instanceof sdk.ExecutionDoesNotExist);
    assert.equal(error.name, "ExecutionDoesNotExist");
    assert.equal(error.message, `Execution Does Not Exist: '${executionArn}'`);
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.ok(error.$metadata.requestId);
    return true;
  });
  await assert.rejects(machine({ Type: "Fly" }), sdk.InvalidDefinition);
  const none = "arn:aws:states:us-east-1:123456789012:stateMachine:none:live";
  await assert.rejects(call("DescribeStateMachineAlias", { stateMachineAliasArn: none }), (error) => {
    assert.ok(error instanceof sdk.ResourceNotFound);
    assert.equal(error.resourceName, none);
    return true;
  });
  await assert.rejects(call("ListStateMachines", { maxResults: 5000 }), { name: "ValidationException" });
});

test("StartSyncExecution", async () => {
  const stateMachineArn = await machine({ Type: "Pass", Result: [1, 2] }, { type: "EXPRESS" });
  const done = await call("StartSyncExecution", { stateMachineArn });
  assert.deepEqual([done.status, done.output], ["SUCCEEDED", "[1,2]"]);
  assert.ok(done.billingDetails.billedDurationInMilliseconds >= 100);
});

test("TestState", async () => {
  const state = JSON.stringify({ Type: "Pass", Result: 1, Next: "Then" });
  const found = await call("TestState", { definition: state, roleArn: ROLE, inspectionLevel: "DEBUG" });
  assert.deepEqual([found.status, found.output, found.nextState], ["SUCCEEDED", "1", "Then"]);
});
