class CardRefused(Exception):
    pass


def handler(event, context):
    if event.get("card") == "refused":
        raise CardRefused("the bank says no")
    return {"charged": event["amount"]}
