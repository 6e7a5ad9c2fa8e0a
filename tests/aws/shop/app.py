class NoFunds(Exception):
    pass


def charge(event, context):
    raise NoFunds("the card has no funds")
