"""Queues through boto3: what the SQS API promises, and what its refusals are called."""

import json
import pathlib
import re
import socket
import threading
import time
import uuid

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError

from everstep import ACCOUNT, REGION, Server, until


class Queues:
    """A client, and short words for what tests do with it."""

    def __init__(self, client):
        self.client = client

    def make(self, fifo=False, **attributes):
        name = f"q-{uuid.uuid4()}" + (".fifo" if fifo else "")
        attributes = {key: str(value) for key, value in attributes.items()} | ({"FifoQueue": "true"} if fifo else {})
        return self.client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def send(self, url, body="x", **options):
        return self.client.send_message(QueueUrl=url, MessageBody=body, **options)

    def receive(self, url, most=10, **options):
        return self.client.receive_message(QueueUrl=url, MaxNumberOfMessages=most, **options).get("Messages", [])

    def bodies(self, url, **options):
        return [message["Body"] for message in self.receive(url, **options)]

    def delete(self, url, message):
        self.client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def attributes(self, url, *names):
        found = self.client.get_queue_attributes(QueueUrl=url, AttributeNames=list(names or ["All"]))
        return found.get("Attributes", {})

    def counts(self, url):
        """How many can be received, are in flight, are delayed."""
        found = self.attributes(url)
        names = ["", "NotVisible", "Delayed"]
        return [int(found[f"ApproximateNumberOfMessages{name}"]) for name in names]

    def dead_letters(self, most, **options):
        """A queue whose messages are moved after so many receives, and where to."""
        dead = self.make(**options)
        policy = json.dumps({"deadLetterTargetArn": arn(dead), "maxReceiveCount": most})
        return self.make(RedrivePolicy=policy, VisibilityTimeout=0, **options), dead


def arn(url):
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name(url)}"


def name(url):
    return url.rsplit("/", 1)[1]


@pytest.fixture(scope="module")
def queues(server):
    return Queues(server.client(service="sqs"))


@pytest.fixture(scope="module")
def sqs(queues):
    return queues.client


def test_every_operation_is_tested():
    source = pathlib.Path(__file__).read_text()
    model = botocore.session.get_session().get_service_model("sqs")
    missing = [operation for operation in model.operation_names if f".{snake(operation)}(" not in source]
    assert not missing


def snake(operation):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()


def test_a_queue_is_created_found_and_deleted(sqs, queues):
    url = queues.make(DelaySeconds=5)
    assert url.endswith(f"/{ACCOUNT}/{name(url)}")
    assert sqs.get_queue_url(QueueName=name(url))["QueueUrl"] == url
    assert sqs.create_queue(QueueName=name(url))["QueueUrl"] == url, "it exists"
    assert sqs.create_queue(QueueName=name(url), Attributes={"DelaySeconds": "5"})["QueueUrl"] == url
    sqs.delete_queue(QueueUrl=url)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName=name(url))
    sqs.create_queue(QueueName=name(url))
    assert queues.attributes(url)["DelaySeconds"] == "0", "another queue"


def test_queues_are_listed_in_pages(sqs, queues):
    prefix = f"list-{uuid.uuid4()}-"
    urls = [sqs.create_queue(QueueName=f"{prefix}{number}")["QueueUrl"] for number in range(5)]
    assert sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == urls
    pages = sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2})
    assert [len(page["QueueUrls"]) for page in pages] == [2, 2, 1]
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=prefix + "none")


def test_attributes(sqs, queues):
    url = queues.make(VisibilityTimeout=7, MaximumMessageSize=2048)
    found = queues.attributes(url)
    assert found["QueueArn"] == arn(url)
    assert (found["VisibilityTimeout"], found["MaximumMessageSize"], found["MessageRetentionPeriod"]) == ("7", "2048", "345600")
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "9"})
    assert queues.attributes(url, "VisibilityTimeout") == {"VisibilityTimeout": "9"}
    assert queues.attributes(url, "Policy") == {}
    fifo = queues.attributes(queues.make(fifo=True, ContentBasedDeduplication="true"))
    assert (fifo["FifoQueue"], fifo["ContentBasedDeduplication"], fifo["DeduplicationScope"]) == ("true", "true", "queue")


def test_tags(sqs, queues):
    url = queues.make()
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)
    sqs.tag_queue(QueueUrl=url, Tags={"a": "1", "b": "2"})
    sqs.untag_queue(QueueUrl=url, TagKeys=["a"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "2"}


def test_a_message_with_everything(queues):
    url = queues.make()
    attributes = {
        "text": {"DataType": "String", "StringValue": "ü"},
        "number": {"DataType": "Number.int", "StringValue": "7"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-a"}}
    sent = queues.send(url, "body ü\n\t", MessageAttributes=attributes, MessageSystemAttributes=trace)
    [message] = queues.receive(url, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], "body ü\n\t")
    assert (message["MD5OfBody"], message["MD5OfMessageAttributes"]) == (sent["MD5OfMessageBody"], sent["MD5OfMessageAttributes"])
    assert message["MessageAttributes"] == attributes
    system = message["Attributes"]
    assert (system["AWSTraceHeader"], system["ApproximateReceiveCount"]) == ("Root=1-a", "1")
    assert system["SentTimestamp"] <= system["ApproximateFirstReceiveTimestamp"]


def test_only_attributes_that_are_asked_for(queues):
    url = queues.make(VisibilityTimeout=0)
    text = {"DataType": "String", "StringValue": "x"}
    queues.send(url, MessageAttributes={"Hello": text, "Help.Me": text, "Other": text})

    def asked(*names):
        [message] = until(lambda: queues.receive(url, MessageAttributeNames=list(names)))
        assert "Attributes" not in message
        return sorted(message.get("MessageAttributes", {}))

    assert asked() == []
    assert asked("Hel.*") == ["Hello", "Help.Me"]
    assert asked("Other", "none") == ["Other"]
    assert asked(".*") == ["Hello", "Help.Me", "Other"]


def test_what_is_received_is_hidden_until_it_is_deleted_or_shown(sqs, queues):
    url = queues.make()
    queues.send(url, "a")
    [message] = queues.receive(url)
    assert queues.counts(url) == [0, 1, 0]
    assert queues.receive(url) == []
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    [again] = queues.receive(url, AttributeNames=["ApproximateReceiveCount"])
    assert again["Attributes"] == {"ApproximateReceiveCount": "2"}
    queues.delete(url, message)
    assert queues.counts(url) == [0, 1, 0], "an old receipt deletes nothing"
    queues.delete(url, again)
    queues.delete(url, again)
    assert queues.counts(url) == [0, 0, 0]


def test_a_message_returns_when_its_time_is_over(queues):
    url = queues.make(VisibilityTimeout=1)
    queues.send(url, "a")
    assert queues.bodies(url) == ["a"]
    assert queues.bodies(url, WaitTimeSeconds=10) == ["a"]


def test_delays(queues):
    url = queues.make(DelaySeconds=1)
    queues.send(url, "usual")
    queues.send(url, "later", DelaySeconds=900)
    queues.send(url, "now", DelaySeconds=0)
    assert queues.counts(url) == [1, 0, 2]
    assert queues.bodies(url) == ["now"]
    assert queues.bodies(url, WaitTimeSeconds=10) == ["usual"]


def test_batches(sqs, queues):
    url = queues.make()
    entries = [{"Id": f"e{number}", "MessageBody": str(number)} for number in range(10)]
    sent = sqs.send_message_batch(QueueUrl=url, Entries=entries)
    assert [one["Id"] for one in sent["Successful"]] == [entry["Id"] for entry in entries]
    messages = queues.receive(url)
    assert [message["Body"] for message in messages] == [str(number) for number in range(10)]
    handles = [{"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]} for message in messages]
    shown = [handle | {"VisibilityTimeout": 0} for handle in handles[:2]] + [{"Id": "bad", "ReceiptHandle": "no", "VisibilityTimeout": 0}]
    changed = sqs.change_message_visibility_batch(QueueUrl=url, Entries=shown)
    assert [one["Id"] for one in changed["Successful"]] == ["0", "1"]
    assert [(one["Id"], one["Code"], one["SenderFault"]) for one in changed["Failed"]] == [("bad", "ReceiptHandleIsInvalid", True)]
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=handles[2:])
    assert len(deleted["Successful"]) == 8
    assert queues.counts(url) == [2, 0, 0]


def test_a_receive_waits_for_a_message(queues):
    url = queues.make()
    found = []
    waiting = threading.Thread(target=lambda: found.extend(queues.bodies(url, WaitTimeSeconds=20)))
    waiting.start()
    queues.send(url, "at last")
    waiting.join()
    assert found == ["at last"]


def test_a_caller_that_has_gone_is_given_nothing(server, queues):
    url = queues.make()
    body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20})
    head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as gone:
        gone.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(0.3)

    def comes_back():
        """The server may notice that the caller has gone only after it was given one message."""
        queues.send(url, "for those who wait")
        return queues.receive(url)

    assert until(comes_back)


def test_a_purge(sqs, queues):
    url = queues.make()
    [queues.send(url) for _ in range(3)]
    queues.receive(url, most=1)
    sqs.purge_queue(QueueUrl=url)
    assert queues.counts(url) == [0, 0, 0]
    queues.send(url, "new")
    assert queues.bodies(url) == ["new"]


def test_a_message_that_was_received_too_often_is_a_dead_letter(sqs, queues):
    url, dead = queues.dead_letters(2)
    sent = queues.send(url, "poison")
    for _ in range(2):
        until(lambda: queues.receive(url))
    [letter] = until(lambda: queues.receive(dead, AttributeNames=["All"]))
    assert (letter["MessageId"], letter["Body"]) == (sent["MessageId"], "poison")
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == arn(url)
    assert letter["Attributes"]["ApproximateReceiveCount"] == "3"
    assert queues.counts(url) == [0, 0, 0]
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [url]
    assert sqs.list_dead_letter_source_queues(QueueUrl=url)["queueUrls"] == []


def test_dead_letters_are_moved_back(sqs, queues):
    url, dead = queues.dead_letters(1)
    [queues.send(url, str(number)) for number in range(3)]
    until(lambda: queues.receive(url) or queues.counts(dead)[0] == 3)
    until(lambda: queues.counts(dead)[0] == 3)
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "30"})
    task = sqs.start_message_move_task(SourceArn=arn(dead))["TaskHandle"]

    def listed():
        [found] = sqs.list_message_move_tasks(SourceArn=arn(dead))["Results"]
        return found if found["Status"] == "COMPLETED" else None

    found = until(listed)
    assert (found["ApproximateNumberOfMessagesMoved"], found["ApproximateNumberOfMessagesToMove"]) == (3, 3)
    assert "TaskHandle" not in found and task
    until(lambda: queues.counts(url)[0] == 3)
    assert sorted(queues.bodies(url)) == ["0", "1", "2"]


def test_a_move_is_cancelled(sqs, queues):
    url, dead = queues.dead_letters(1)
    [queues.send(dead) for _ in range(10)]
    options = {"SourceArn": arn(dead), "DestinationArn": arn(url), "MaxNumberOfMessagesPerSecond": 1}
    task = sqs.start_message_move_task(**options)["TaskHandle"]
    refused(sqs, "start_message_move_task", "InvalidParameterValue", "already a task running", **options)
    moved = sqs.cancel_message_move_task(TaskHandle=task)["ApproximateNumberOfMessagesMoved"]
    assert moved < 10
    [found] = sqs.list_message_move_tasks(SourceArn=arn(dead))["Results"]
    assert found["Status"] == "CANCELLED"
    refused(sqs, "cancel_message_move_task", "ResourceNotFoundException", "Task does not exist", TaskHandle=task)


def test_messages_of_a_group_are_in_order_and_go_to_one_receiver(queues):
    url = queues.make(fifo=True, ContentBasedDeduplication="true")
    sent = [queues.send(url, f"{group}{number}", MessageGroupId=group) for number in range(3) for group in "ab"]
    assert [one["SequenceNumber"] for one in sent] == sorted(one["SequenceNumber"] for one in sent)
    first = queues.receive(url, most=2, AttributeNames=["All"])
    assert [message["Body"] for message in first] == ["a0", "a1"]
    assert first[0]["Attributes"]["MessageGroupId"] == "a"
    assert [first[0]["Attributes"]["SequenceNumber"]] == [sent[0]["SequenceNumber"]]
    assert queues.bodies(url) == ["b0", "b1", "b2"]
    assert queues.receive(url) == []
    [queues.delete(url, message) for message in first]
    assert queues.bodies(url) == ["a2"]


def test_an_expired_receipt_of_a_fifo_queue_is_refused(sqs, queues):
    url = queues.make(fifo=True)
    queues.send(url, "a", MessageGroupId="g", MessageDeduplicationId="1")
    [message] = queues.receive(url, VisibilityTimeout=1)
    until(lambda: queues.counts(url)[0] == 1)
    handle = message["ReceiptHandle"]
    text = f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
    refused(sqs, "delete_message", "InvalidParameterValue", text, QueueUrl=url, ReceiptHandle=handle)


def test_deduplication(sqs, queues):
    url = queues.make(fifo=True)
    options = {"MessageGroupId": "g", "MessageDeduplicationId": "same"}
    first = queues.send(url, "one", **options)
    again = queues.send(url, "two", **options)
    assert (first["MessageId"], first["SequenceNumber"]) == (again["MessageId"], again["SequenceNumber"])
    [message] = queues.receive(url)
    queues.delete(url, message)
    queues.send(url, "three", **options)
    assert queues.counts(url) == [0, 0, 0]


def test_a_repeated_receive_gets_the_same_messages(queues):
    url = queues.make(fifo=True, ContentBasedDeduplication="true")
    queues.send(url, "a", MessageGroupId="g")
    first = queues.receive(url, ReceiveRequestAttemptId="once")
    assert queues.receive(url, ReceiveRequestAttemptId="once") == first
    assert queues.receive(url, ReceiveRequestAttemptId="twice") == []


def refused(sqs, operation, code, text="", **options):
    with pytest.raises(ClientError) as refusal:
        getattr(sqs, operation)(**options)
    error = refusal.value.response["Error"]
    assert error["Code"] == code and text in error["Message"], error
    return refusal.value


def test_refusals_have_the_names_that_clients_expect(sqs, queues):
    url, fifo = queues.make(), queues.make(fifo=True)
    gone = url + "-gone"
    error = refused(sqs, "send_message", "AWS.SimpleQueueService.NonExistentQueue", "does not exist", QueueUrl=gone, MessageBody="x")
    assert isinstance(error, sqs.exceptions.QueueDoesNotExist)
    assert error.response["Error"]["QueryErrorCode"] == "QueueDoesNotExist"
    invalid = "InvalidParameterValue"
    for attributes in ({"DelaySeconds": "1"}, {"MaximumMessageSize": "2048"}):
        error = refused(sqs, "create_queue", "QueueAlreadyExists", next(iter(attributes)), QueueName=name(url), Attributes=attributes)
        assert isinstance(error, sqs.exceptions.QueueNameExists)
    for bad in ("a/b", "a.b", "x" * 81, "a b", "q.fifo"):
        refused(sqs, "create_queue", invalid, "alphanumeric", QueueName=bad)
    refused(sqs, "create_queue", invalid, ".fifo", QueueName="q", Attributes={"FifoQueue": "true"})
    for attribute, value, code in [
        ("VisibilityTimeout", "43201", "InvalidAttributeValue"),
        ("Fly", "1", "InvalidAttributeName"),
        ("KmsMasterKeyId", "alias/aws/sqs", "InvalidAttributeName"),
        ("Policy", "{}", "InvalidAttributeName"),
        ("FifoQueue", "true", "InvalidAttributeName"),
        ("RedrivePolicy", "{}", invalid),
        ("RedrivePolicy", json.dumps({"deadLetterTargetArn": arn(gone), "maxReceiveCount": 1}), invalid),
        ("RedrivePolicy", json.dumps({"deadLetterTargetArn": arn(fifo), "maxReceiveCount": 1}), invalid),
    ]:
        refused(sqs, "set_queue_attributes", code, QueueUrl=url, Attributes={attribute: value})
    refused(sqs, "set_queue_attributes", "InvalidAttributeValue", "queue type", QueueUrl=fifo, Attributes={"FifoQueue": "true"})
    refused(sqs, "receive_message", invalid, "Must be between 1 and 10", QueueUrl=url, MaxNumberOfMessages=11)
    refused(sqs, "receive_message", invalid, "<= 20", QueueUrl=url, WaitTimeSeconds=21)
    refused(sqs, "receive_message", invalid, QueueUrl=url, VisibilityTimeout=43201)
    refused(sqs, "delete_message", "ReceiptHandleIsInvalid", QueueUrl=url, ReceiptHandle="garbage")
    refused(sqs, "change_message_visibility", "ReceiptHandleIsInvalid", QueueUrl=url, ReceiptHandle="x", VisibilityTimeout=1)
    for operation in ("add_permission", "remove_permission"):
        options = {"AWSAccountIds": ["1"], "Actions": ["*"]} if operation == "add_permission" else {}
        refused(sqs, operation, "AWS.SimpleQueueService.UnsupportedOperation", "access policies", QueueUrl=url, Label="l", **options)
    # For the test that reads this file: sqs.add_permission(, sqs.remove_permission(


def test_refused_messages(sqs, queues):
    url, fifo = queues.make(MaximumMessageSize=1024), queues.make(fifo=True)
    invalid = "InvalidParameterValue"
    send = lambda code, text, to=url, **options: refused(sqs, "send_message", code, text, **({"QueueUrl": to, "MessageBody": "x"} | options))
    send(invalid, "shorter than 1024 bytes", MessageBody="x" * 1025)
    send("MissingParameter", "MessageBody", MessageBody="")
    send("InvalidMessageContents", "#x1", MessageBody="\x01")
    send(invalid, "DelaySeconds must be", DelaySeconds=901)
    send(invalid, "non-empty", MessageAttributes={"a": {"DataType": "String", "StringValue": ""}})
    send(invalid, "queue type", MessageDeduplicationId="d")
    send("MissingParameter", "MessageGroupId", to=fifo)
    send(invalid, "ContentBasedDeduplication", to=fifo, MessageGroupId="g")
    send(invalid, "Value 2 for parameter DelaySeconds", to=fifo, MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=2)
    assert queues.counts(url) == queues.counts(fifo) == [0, 0, 0]


def test_refused_batches(sqs, queues):
    url, fifo = queues.make(), queues.make(fifo=True)
    own = "AWS.SimpleQueueService."
    entry = lambda id, body="x": {"Id": id, "MessageBody": body}
    batch = lambda code, text, entries, to=url: refused(sqs, "send_message_batch", code, text, QueueUrl=to, Entries=entries)
    batch(own + "EmptyBatchRequest", "at least one", [])
    batch(own + "TooManyEntriesInBatchRequest", "You have sent 11", [entry(str(n)) for n in range(11)])
    batch(own + "BatchEntryIdsNotDistinct", "Id a repeated", [entry("a"), entry("a")])
    batch(own + "InvalidBatchEntryId", "at most 80", [entry("a:b")])
    half = "x" * (1 << 19)
    batch(own + "BatchRequestTooLong", "1048576 bytes", [entry("a", half), entry("b", half), entry("c")])
    batch("InvalidParameterValue", "MessageGroupId", [entry("a")], fifo)
    sent = sqs.send_message_batch(QueueUrl=url, Entries=[entry("good"), entry("bad", "\x01")])
    assert [one["Id"] for one in sent["Successful"]] == ["good"]
    assert [(one["Id"], one["Code"]) for one in sent["Failed"]] == [("bad", "InvalidMessageContents")]


def test_refused_moves(sqs, queues):
    url, dead = queues.dead_letters(1)
    missing = "ResourceNotFoundException"
    refused(sqs, "start_message_move_task", missing, "SourceArn", SourceArn=arn(url) + "-gone")
    refused(sqs, "start_message_move_task", missing, "DestinationArn", SourceArn=arn(dead), DestinationArn=arn(url) + "-gone")
    refused(sqs, "start_message_move_task", "InvalidParameterValue", "Dead Letter Queue", SourceArn=arn(url))
    refused(sqs, "cancel_message_move_task", "InvalidParameterValue", "TaskHandle", TaskHandle="x")


def test_a_large_message_and_a_large_batch(sqs, queues):
    url = queues.make()
    queues.send(url, "x" * (1 << 20))
    [message] = queues.receive(url)
    assert len(message["Body"]) == 1 << 20
    queues.delete(url, message)
    sent = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(n), "MessageBody": "ü" * (1 << 18)} for n in range(2)])
    assert len(sent["Successful"]) == 2 and len(queues.receive(url)) == 2


def test_the_url_of_a_queue_takes_requests_too(server, queues):
    url = queues.make()
    headers = {"X-Amz-Target": "AmazonSQS.SendMessage"}
    status, _, answer = server.post("", {"QueueUrl": url, "MessageBody": "x"}, headers, path=f"/{ACCOUNT}/{name(url)}")
    assert status == 200 and answer["MessageId"]


def test_requests_need_a_key_where_there_are_keys(tmp_path):
    settings = tmp_path / "everstep.toml"
    settings.write_text('[access-keys]\nAKID = "secret"\n')
    server = Server(tmp_path / "store", options=["--config", settings])
    try:
        good = server.client(service="sqs", key="AKID", secret="secret")
        url = good.create_queue(QueueName="q")["QueueUrl"]
        good.send_message(QueueUrl=url, MessageBody="x")
        [message] = good.receive_message(QueueUrl=url, AttributeNames=["SenderId"])["Messages"]
        assert message["Attributes"]["SenderId"] == "AKID"
        refused(server.client(service="sqs", key="AKID", secret="wrong"), "list_queues", "InvalidSignatureException")
        refused(server.client(service="sqs", key="other", secret="secret"), "list_queues", "UnrecognizedClientException")
    finally:
        server.stop()


SEND = {
    "StartAt": "Send",
    "States": {
        "Send": {
            "Type": "Task",
            "Resource": "arn:aws:states:::sqs:sendMessage",
            "Parameters": {"QueueUrl.$": "$.url", "MessageBody": {"n.$": "$.n"}},
            "End": True,
        }
    },
}


def test_a_task_sends_a_message(world, queues):
    url = queues.make()
    output = world.output(json.dumps(SEND), {"url": f"https://sqs.eu-west-1.amazonaws.com/1/{name(url)}", "n": 7})
    [message] = queues.receive(url)
    assert (message["MessageId"], json.loads(message["Body"])) == (output["MessageId"], {"n": 7})
    assert output["MD5OfMessageBody"] == message["MD5OfBody"]
    assert output["SdkHttpMetadata"]["HttpStatusCode"] == 200


def test_a_task_that_cannot_send_fails(world, queues):
    ended = world.run(json.dumps(SEND), {"url": "https://sqs.eu-west-1.amazonaws.com/1/none", "n": 7})
    assert (ended["status"], ended["error"]) == ("FAILED", "SQS.QueueDoesNotExistException")


def test_a_task_waits_for_the_answer_to_its_message(world, queues):
    url = queues.make()
    definition = json.loads(json.dumps(SEND))
    send = definition["States"]["Send"]
    send["Resource"] += ".waitForTaskToken"
    send["Parameters"]["MessageBody"] = {"token.$": "$$.Task.Token"}
    execution = world.start(world.machine(json.dumps(definition)), {"url": url})
    [message] = until(lambda: queues.receive(url))
    token = json.loads(message["Body"])["token"]
    world.sfn.send_task_success(taskToken=token, output='{"done": true}')
    assert json.loads(world.ended(execution)["output"]) == {"done": True}


def test_tasks_call_other_operations(world, queues):
    url = queues.make()
    queues.send(url, "from outside")
    resource = "arn:aws:states:::aws-sdk:sqs:"
    definition = {
        "StartAt": "Receive",
        "States": {
            "Receive": {"Type": "Task", "Resource": resource + "receiveMessage", "Parameters": {"QueueUrl": url}, "Next": "Delete"},
            "Delete": {
                "Type": "Task",
                "Resource": resource + "deleteMessage",
                "Parameters": {"QueueUrl": url, "ReceiptHandle.$": "$.Messages[0].ReceiptHandle"},
                "ResultPath": "$.deleted",
                "End": True,
            },
        },
    }
    output = world.output(json.dumps(definition))
    [message] = output["Messages"]
    assert (message["Body"], "Md5OfBody" in message) == ("from outside", True)
    assert queues.counts(url) == [0, 0, 0]


CONFIGURATION = """
functions:
  fails:
    runtime: command
    command: [sh, -c, "echo no >&2; exit 1"]
    retry: none
    onFailure: arn:aws:sqs:us-west-2:012345678901:failed
    deadLetter: queue:letters.fifo
  works:
    runtime: command
    command: [cat]
    onSuccess: queue:done
stateMachines:
  breaks:
    definition: '{"StartAt":"F","States":{"F":{"Type":"Fail","Error":"E","Cause":"C"}}}'
    onFailure: queue:done
queues:
  failed: { maxDeliveries: 2, visibilityTimeout: 0s }
  done: {}
  letters.fifo: {}
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "everstep.yaml").write_text(CONFIGURATION)
    server = Server(tmp_path / "store", {"EVERSTEP_FUNCTIONS": str(tmp_path)})
    yield server
    server.stop()


def test_records_are_delivered_to_queues(project):
    queues = Queues(project.client(service="sqs"))
    lambdas, sfn = project.client(service="lambda"), project.client()
    url = lambda name: queues.client.get_queue_url(QueueName=name)["QueueUrl"]
    lambdas.invoke(FunctionName="fails", InvocationType="Event", Payload=b'{"n": 1}')
    lambdas.invoke(FunctionName="works", InvocationType="Event", Payload=b'{"n": 2}')
    [message] = until(lambda: queues.receive(url("failed")))
    record = json.loads(message["Body"])
    assert (record["requestContext"]["condition"], record["requestPayload"]) == ("RetriesExhausted", {"n": 1})
    [letter] = until(lambda: queues.receive(url("letters.fifo"), AttributeNames=["MessageGroupId"]))
    assert letter["Attributes"]["MessageGroupId"] == "fails"
    [message] = until(lambda: queues.receive(url("done")))
    assert json.loads(message["Body"])["responsePayload"] == {"n": 2}
    machine = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:breaks"
    sfn.start_execution(stateMachineArn=machine, name="broken")
    [message] = until(lambda: queues.receive(url("done")))
    assert json.loads(message["Body"])["detail"]["status"] == "FAILED"
    # The first record was received once above, and is received once more before it is poison.
    until(lambda: queues.receive(url("failed")))
    [poison] = until(lambda: queues.receive(url("failed-poison")))
    assert json.loads(poison["Body"]) == record


def test_queues_of_the_configuration(project):
    queues = Queues(project.client(service="sqs"))
    urls = queues.client.list_queues()["QueueUrls"]
    assert [name(url) for url in urls] == ["done", "failed", "failed-poison", "letters.fifo"]
    failed = queues.attributes(urls[1])
    assert json.loads(failed["RedrivePolicy"]) == {"deadLetterTargetArn": arn(urls[2]), "maxReceiveCount": 2}
    assert queues.attributes(urls[2])["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    # What the file says counts again at the next start.
    queues.client.set_queue_attributes(QueueUrl=urls[1], Attributes={"VisibilityTimeout": "9", "RedrivePolicy": ""})
    project.stop()
    project.start()
    queues = Queues(project.client(service="sqs"))
    failed = queues.attributes(queues.client.get_queue_url(QueueName="failed")["QueueUrl"])
    assert (failed["VisibilityTimeout"], "RedrivePolicy" in failed) == ("0", True)


def test_the_resource_of_boto3(server):
    """The other way to use the SDK."""
    options = {"endpoint_url": server.url, "region_name": REGION, "aws_access_key_id": "any", "aws_secret_access_key": "any"}
    queue = boto3.resource("sqs", **options).create_queue(QueueName=f"r-{uuid.uuid4()}")
    queue.send_message(MessageBody="a")
    [message] = queue.receive_messages(WaitTimeSeconds=1)
    message.delete()
    assert queue.attributes["ApproximateNumberOfMessages"] == "0"
