"""Handlers, one for each case. Traces name lines: new ones go to the end."""

import collections
import decimal
import os
import sys
import threading


class OutOfStockError(Exception):
    pass


class Unspeakable(Exception):
    def __str__(self):
        return ""


Point = collections.namedtuple("Point", "x y")


def echo(event, context):
    return event


def nothing(event, context):
    return None


def deep():
    raise OutOfStockError("no widgets left")


def raises(event, context):
    deep()


def raises_without_message(event, context):
    raise Unspeakable


def raises_with_cause(event, context):
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise OutOfStockError("outer") from error


def raises_unicode(event, context):
    raise ValueError("naïve → 漢字 😀\nsecond \"line\"\t\x7f")


def raises_interrupt(event, context):
    raise KeyboardInterrupt


def raises_group(event, context):
    raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])


def unserialisable(event, context):
    return {"a": [object()]}


def circular(event, context):
    loop = []
    loop.append(loop)
    return loop


def not_numbers(event, context):
    return [float("nan"), float("inf"), float("-inf")]


def decimals(event, context):
    return [decimal.Decimal("1.10"), decimal.Decimal("1E+3"), decimal.Decimal("NaN"), {"d": decimal.Decimal(7)}]


def raw_bytes(event, context):
    return b"\xfe\xffraw"


def bytes_within(event, context):
    return {"a": "é".encode()}


def broken_bytes_within(event, context):
    return {"a": b"\xff"}


def tuples(event, context):
    return {"point": Point(1, 2), "pair": (1, 2), "points": [Point(3, 4)]}


def odd_keys(event, context):
    return {1: "int", 1.5: "float", True: "bool", None: "none", "s": "str"}


def tuple_keys(event, context):
    return {(1, 2): 3}


def text(event, context):
    return {"text": "naïve 漢字 😀 \u2028 \x7f \" \\ / \ud800", "n": [1, -0.0, 1e100, 1.5, 10**30]}


def exits(event, context):
    sys.exit(event)


def exits_hard(event, context):
    os._exit(event)


def signals(event, context):
    os.kill(os.getpid(), event)
    threading.Event().wait()


def aborts(event, context):
    os.abort()


def large(event, context):
    return "x" * event


def leaves_a_thread(event, context):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return threading.active_count()


def sees(event, context):
    left = context.get_remaining_time_in_millis()
    return [repr(context), context.w3c(), 0 < left <= 60000, os.environ.get("_X_AMZN_TRACE_ID")]


def has_no_time_left(event, context):
    return context.get_remaining_time_in_millis() == 0


def takes_one(event):
    return event


text_handler = "not a function"
none_handler = None
