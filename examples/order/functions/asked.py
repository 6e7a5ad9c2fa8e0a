"""What goes wrong because the order asks for it.

    {"orderId": "o-1", "fail": {"charge-customer": {"error": "RateLimitError", "times": 2}}}

lets the first two attempts of charge-customer fail; without "times", every attempt fails. The error "Exit" ends
the process. Each call leaves a line in the file that WITNESS names, which is also how attempts are counted.
"""

import json
import os
import time

WITNESS = os.environ.get("WITNESS", ".calls.jsonl")
MESSAGES = {
    "OutOfStockError": "item sku-7 is sold out",
    "RateLimitError": "the payment provider takes no more than 10 calls a second",
    "PaymentError": "the card was declined",
}


def fail(order, context):
    function = context.function_name
    wish = order.get("fail", {}).get(function) or {}
    line = {"function": function, "requestId": context.aws_request_id, "orderId": order.get("orderId")}
    line |= {"pid": os.getpid(), "error": error(wish, line)}
    with open(WITNESS, "a") as witness:
        witness.write(json.dumps(line) + "\n")
    time.sleep(wish.get("afterSeconds", 0))
    if line["error"] == "Exit":
        os._exit(1)
    if line["error"]:
        raise type(line["error"], (Exception,), {})(MESSAGES.get(line["error"], "as the order asked for"))


def error(wish, line):
    """An attempt that is made again, because the engine was killed, ends as it would have ended."""
    failed = set()
    for call in calls(line):
        if call["requestId"] == line["requestId"]:
            return call["error"]
        failed = failed | {call["requestId"]} if call["error"] else set()
    lasts = len(failed) < wish.get("times", float("inf"))
    return wish.get("error") if lasts else None


def calls(line):
    """Those of the same function for the same order."""
    if not os.path.exists(WITNESS):
        return []
    with open(WITNESS) as witness:
        all = [json.loads(text) for text in witness if text.endswith("\n")]
    return [call for call in all if (call["function"], call["orderId"]) == (line["function"], line["orderId"])]
