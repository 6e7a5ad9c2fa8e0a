// Queues through the AWS SDK for JavaScript, which compares the digests of messages with its own.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import * as sdk from "@aws-sdk/client-sqs";

const sqs = new sdk.SQSClient({
  endpoint: process.env.EVERSTEP_URL,
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
  maxAttempts: 1,
});

const call = (operation, request = {}) => sqs.send(new sdk[`${operation}Command`](request));

async function queue(Attributes = {}, ending = "") {
  const made = await call("CreateQueue", { QueueName: `js-${randomUUID()}${ending}`, Attributes });
  return made.QueueUrl;
}

test("a message with attributes, received and deleted", async () => {
  const QueueUrl = await queue();
  const MessageAttributes = {
    text: { DataType: "String", StringValue: "ü" },
    bytes: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255]) },
  };
  const sent = await call("SendMessage", { QueueUrl, MessageBody: "hello ü", MessageAttributes });
  const found = await call("ReceiveMessage", {
    QueueUrl,
    WaitTimeSeconds: 1,
    MessageAttributeNames: ["All"],
    MessageSystemAttributeNames: ["All"],
  });
  const [message] = found.Messages;
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.MessageAttributes.text.StringValue, "ü");
  assert.deepEqual([...message.MessageAttributes.bytes.BinaryValue], [0, 255]);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
  await call("DeleteMessage", { QueueUrl, ReceiptHandle: message.ReceiptHandle });
  const left = await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] });
  assert.equal(left.Attributes.ApproximateNumberOfMessagesNotVisible, "0");
});

test("batches", async () => {
  const QueueUrl = await queue();
  const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: `e${n}`, MessageBody: `m${n}` }));
  const sent = await call("SendMessageBatch", { QueueUrl, Entries });
  assert.equal(sent.Successful.length, 10);
  const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
  assert.deepEqual(Messages.map((one) => one.Body), Entries.map((one) => one.MessageBody));
  const handles = Messages.map(({ ReceiptHandle }, n) => ({ Id: `${n}`, ReceiptHandle }));
  const deleted = await call("DeleteMessageBatch", { QueueUrl, Entries: handles });
  assert.equal(deleted.Successful.length, 10);
});

test("order within a group", async () => {
  const QueueUrl = await queue({ FifoQueue: "true", ContentBasedDeduplication: "true" }, ".fifo");
  for (const body of ["one", "two", "two"]) {
    await call("SendMessage", { QueueUrl, MessageBody: body, MessageGroupId: "g" });
  }
  const { Messages } = await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
  assert.deepEqual(Messages.map((one) => one.Body), ["one", "two"]);
});

test("a receive waits", async () => {
  const QueueUrl = await queue();
  const waiting = call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
  await call("SendMessage", { QueueUrl, MessageBody: "at last" });
  assert.equal((await waiting).Messages[0].Body, "at last");
});

test("errors have their types", async () => {
  const missing = call("GetQueueUrl", { QueueName: "none" });
  await assert.rejects(missing, (error) => {
    assert.ok(error instanceof sdk.QueueDoesNotExist);
    assert.equal(error.Error.Code, "AWS.SimpleQueueService.NonExistentQueue");
    return true;
  });
  const QueueUrl = await queue();
  const garbage = call("DeleteMessage", { QueueUrl, ReceiptHandle: "garbage" });
  await assert.rejects(garbage, (error) => error instanceof sdk.ReceiptHandleIsInvalid);
});
