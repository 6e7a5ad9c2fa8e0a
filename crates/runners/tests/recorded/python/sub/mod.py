def handler(event, context):
    return ["sub", event]
