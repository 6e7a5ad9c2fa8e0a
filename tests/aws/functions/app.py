"""Handlers as AWS Lambda takes them."""

import time


class NoFunds(Exception):
    pass


def greet(event, context):
    return {"hello": event, "requestId": context.aws_request_id}


def told(event, context):
    """What the caller says beside the event."""
    given = context.client_context
    return {"custom": given.custom, "env": given.env}


def fails(event, context):
    raise NoFunds("the card has no funds")


def slow(event, context):
    time.sleep(60)


def says(event, context):
    print("well")
