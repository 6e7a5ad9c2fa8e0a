"""The server is killed again and again while senders and consumers work with its queues.

What a sender was told stays true: its message is received until it is deleted, and one that no consumer can handle is a
dead letter, once. What a consumer was told it has deleted does not come back.
"""

import json
import threading

from botocore.exceptions import BotoCoreError, ClientError

from everstep import ACCOUNT, REGION, Server, until

KILLS = 6
SENDERS = 3
CONSUMERS = 3
# Messages that senders are told of between one kill and the next.
SENT_PER_KILL = 150
RECEIVES_MAX = 3


class Load:
    def __init__(self, server):
        self.server = server
        self.over = threading.Event()
        self.sent, self.handled, self.problems = {}, {}, []
        sqs = server.client(service="sqs")
        make = lambda name, **attributes: sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        self.dead = make("dead")
        policy = {"deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:dead", "maxReceiveCount": RECEIVES_MAX}
        self.queue = make("work", VisibilityTimeout="2", RedrivePolicy=json.dumps(policy))
        self.fifo = make("work.fifo", FifoQueue="true", ContentBasedDeduplication="true", VisibilityTimeout="2")
        self.orders = {}
        jobs = [(self.send, i) for i in range(SENDERS)] + [(self.consume,) for _ in range(CONSUMERS)]
        jobs += [(self.send_in_order,), (self.consume_in_order,)]
        self.threads = [threading.Thread(target=self.guarded, args=job) for job in jobs]

    def guarded(self, job, *arguments):
        client = self.server.client(service="sqs", timeout=10)
        try:
            job(client, *arguments)
        except Exception as error:
            self.problems.append(error)

    def again(self, client, operation, **options):
        """Asks until there is an answer; none if everything is over."""
        while not self.over.is_set():
            try:
                return getattr(client, operation)(**options)
            except (BotoCoreError, ClientError) as error:
                code = (getattr(error, "response", None) or {}).get("Error", {}).get("Code")
                if code not in (None, "ServiceUnavailable", "InternalFailure"):
                    raise
                self.over.wait(0.05)
        return None

    def send(self, client, number):
        """A message that was not acknowledged is another one when it is sent again: each has its own body."""
        count = 0
        while not self.over.is_set():
            count += 1
            kind = "poison" if count % 10 == 0 else "good"
            body = f"{kind}-{number}-{count}"
            try:
                client.send_message(QueueUrl=self.queue, MessageBody=body)
                self.sent[body] = kind
            except (BotoCoreError, ClientError):
                self.over.wait(0.05)

    def consume(self, client):
        while not self.over.is_set():
            found = self.again(client, "receive_message", QueueUrl=self.queue, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["All"])
            for message in (found or {}).get("Messages", []):
                body, count = message["Body"], int(message["Attributes"]["ApproximateReceiveCount"])
                if count > RECEIVES_MAX:
                    self.problems.append(f"{body} was received {count} times")
                if self.handled.get(body) == "deleted":
                    self.problems.append(f"{body} came back after it was deleted")
                if body.startswith("poison"):
                    continue
                if self.again(client, "delete_message", QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"]):
                    self.handled[body] = "deleted"

    def send_in_order(self, client):
        count = 0
        while not self.over.is_set():
            count += 1
            for group in "ab":
                self.again(client, "send_message", QueueUrl=self.fifo, MessageBody=f"{group}-{count}", MessageGroupId=group)

    def consume_in_order(self, client):
        while not self.over.is_set():
            found = self.again(client, "receive_message", QueueUrl=self.fifo, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            for message in (found or {}).get("Messages", []):
                group, number = message["Body"].split("-")
                last = self.orders.get(group, 0)
                # One that was deleted without an answer, or is received again because its time was over.
                if int(number) > last + 1:
                    self.problems.append(f"{message['Body']} came after {last}")
                self.orders[group] = max(last, int(number))
                self.again(client, "delete_message", QueueUrl=self.fifo, ReceiptHandle=message["ReceiptHandle"])

    def goes_on(self):
        enough = len(self.sent) + SENT_PER_KILL
        until(lambda: self.problems or len(self.sent) >= enough, "senders that are told of messages")


def test_nothing_is_lost_and_nothing_comes_back(tmp_path):
    server = Server(tmp_path / "store")
    load = Load(server)
    [thread.start() for thread in load.threads]
    for _ in range(KILLS):
        load.goes_on()
        server.kill()
        server.start()
    load.goes_on()
    load.over.set()
    [thread.join() for thread in load.threads]
    assert not load.problems, load.problems
    assert load.orders.get("a", 0) > 10, "messages in order were received"
    drain(server, load)
    server.stop()


def drain(server, load):
    """What is left is received; poison becomes a dead letter, each once."""
    sqs = server.client(service="sqs")
    good = {body for body, kind in load.sent.items() if kind == "good"}
    poison = {body for body, kind in load.sent.items() if kind == "poison"}
    seen = {body for body in load.handled}
    letters = []

    def all_accounted():
        for message in sqs.receive_message(QueueUrl=load.queue, MaxNumberOfMessages=10).get("Messages", []):
            assert load.handled.get(message["Body"]) != "deleted", message
            if message["Body"].startswith("good"):
                seen.add(message["Body"])
                sqs.delete_message(QueueUrl=load.queue, ReceiptHandle=message["ReceiptHandle"])
        for message in sqs.receive_message(QueueUrl=load.dead, MaxNumberOfMessages=10).get("Messages", []):
            letters.append(message["Body"])
            sqs.delete_message(QueueUrl=load.dead, ReceiptHandle=message["ReceiptHandle"])
        return good <= seen and poison <= set(letters)

    until(all_accounted, "every message that was acknowledged")
    assert len(letters) == len(set(letters)), "a dead letter is there twice"
