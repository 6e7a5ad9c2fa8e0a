"""The six functions of the order workflow, in one file: `python3 order.py reserve-inventory`.

Each takes the order as JSON on standard input and writes its answer to standard output. The
order itself can say what shall go wrong:

    {"orderId": "o-1", "fail": {"charge-customer": {"error": "RateLimitError", "times": 2}}}

makes the first two attempts of charge-customer fail; without "times", every attempt fails.
Functions keep no count of their own: the number of the attempt is in EVERSTEP_ATTEMPT.
"""

import json
import os
import sys
import time

MESSAGES = {
    "OutOfStockError": "item sku-7 is sold out",
    "RateLimitError": "the payment provider takes no more than 10 calls a second",
    "PaymentError": "the card was declined",
    "WarehouseError": "no parcel service answers",
}


class Failure(Exception):
    def __init__(self, error, message):
        super().__init__(message)
        self.error = error


def fail_if_asked(name, order):
    """Fails as the order asks for, as long as it asks for it."""
    wish = order.get("fail", {}).get(name)
    if wish is None:
        return
    time.sleep(wish.get("after_seconds", 0))
    attempt = int(os.environ.get("EVERSTEP_ATTEMPT", "1"))
    if attempt <= wish.get("times", attempt):
        raise Failure(wish["error"], MESSAGES.get(wish["error"], "as the order asked for"))


def reserve_inventory(order):
    return {**order, "reservationId": "res-1"}


def charge_customer(order):
    return {**order, "chargeId": "ch-1"}


def fulfill_order(order):
    return {**order, "trackingNumber": "tr-1"}


def release_inventory(order):
    return {**order, "released": order.get("reservationId")}


def refund(order):
    return {**order, "refunded": order.get("chargeId")}


def send_notification(order):
    # An order that could not be filled arrives as the outputs of two branches.
    print("notified the customer", file=sys.stderr)
    return order


FUNCTIONS = {
    "reserve-inventory": reserve_inventory,
    "charge-customer": charge_customer,
    "fulfill-order": fulfill_order,
    "release-inventory": release_inventory,
    "refund": refund,
    "send-notification": send_notification,
}


def main():
    name = sys.argv[1]
    order = json.load(sys.stdin)
    try:
        if isinstance(order, dict):
            fail_if_asked(name, order)
        json.dump(FUNCTIONS[name](order), sys.stdout)
    except Failure as failure:
        json.dump({"errorType": failure.error, "errorMessage": str(failure)}, sys.stdout)
        sys.exit(1)


if __name__ == "__main__":
    main()
