"""Calls a Lambda handler for each event, over the Lambda Runtime API. Nothing but the standard library."""

import importlib
import json
import logging
import os
import re
import socket
import sys
import time
import traceback

ROOT = "/2018-06-01/runtime"


class Api:
    """One connection to the engine, on which requests and answers take turns."""

    def __init__(self, address):
        self.address = address
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def request(self, method, path, body=b"", headers=()):
        lines = [f"{method} {ROOT}{path} HTTP/1.1", f"Host: {self.address}"]
        lines += [f"{name}: {value}" for name, value in headers]
        if method == "POST":
            lines += [f"Content-Length: {len(body)}"]
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode() + body)
        status = self.stream.readline()
        if not status:
            raise ConnectionError("the engine has closed the connection")
        answer = {}
        while (line := self.stream.readline().rstrip(b"\r\n")):
            name, _, value = line.partition(b":")
            answer[name.lower().decode()] = value.strip().decode("utf-8", "replace")
        return answer, self.stream.read(int(answer.get("content-length", "0")))

    def post(self, path, body, kind="application/json"):
        self.request("POST", path, body, [("Content-Type", kind)])


class Record:
    """Named values, shown with their names."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __repr__(self):
        shown = [(name, value) for name, value in self.__dict__.items() if name[0] != "_"]
        inner = ",".join(f"{name}={value}" for name, value in shown)
        return f"{type(self).__name__}([{inner}])"

    @classmethod
    def of(cls, given, *names):
        return None if given is None else cls(**{name: given.get(name) for name in names})


class Client(Record):
    pass


class ClientContext(Record):
    pass


class CognitoIdentity(Record):
    pass


class LambdaContext(Record):
    def __init__(self, deadline_ms, w3c, **values):
        super().__init__(**values)
        self.__deadline_ms = deadline_ms
        self.__w3c = w3c

    def get_remaining_time_in_millis(self):
        return max(self.__deadline_ms - int(time.time() * 1000), 0)

    def w3c(self):
        return dict(self.__w3c)

    def log(self, text):
        sys.stdout.write(str(text))


APP = ["title", "version_name", "version_code", "package_name"]
TRACE_CONTEXT = ["traceparent", "tracestate", "baggage"]


def client_context(given):
    context = ClientContext.of(given, "custom", "env", "client")
    if context is not None:
        names = [f"app_{name}" for name in APP]
        context.client = Client.of(context.client, "installation_id", *names)
    return context


def trace_context(given):
    """Removed from the client's context once it is known."""
    given = given.pop("w3c", None) if isinstance(given, dict) else None
    given = given if isinstance(given, dict) else {}
    return {name: given[name] for name in TRACE_CONTEXT if isinstance(given.get(name), str)}


def header(headers, name, shown):
    text = headers.get(f"lambda-runtime-{name}")
    try:
        return json.loads(text) if text else None
    except ValueError as error:
        message = f"Unable to parse {shown} JSON: {error}"
        raise Fault("Runtime.LambdaContextUnmarshalError", message) from None


def context_of(headers):
    env = os.environ
    client = header(headers, "client-context", "Client Context")
    identity = header(headers, "cognito-identity", "Cognito Identity") or {}
    return LambdaContext(
        int(headers.get("lambda-runtime-deadline-ms", "0")),
        trace_context(client),
        aws_request_id=headers["lambda-runtime-aws-request-id"],
        log_group_name=env.get("AWS_LAMBDA_LOG_GROUP_NAME"),
        log_stream_name=env.get("AWS_LAMBDA_LOG_STREAM_NAME"),
        function_name=env.get("AWS_LAMBDA_FUNCTION_NAME"),
        memory_limit_in_mb=env.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"),
        function_version=env.get("AWS_LAMBDA_FUNCTION_VERSION"),
        invoked_function_arn=headers.get("lambda-runtime-invoked-function-arn"),
        client_context=client_context(client),
        identity=CognitoIdentity(
            cognito_identity_id=identity.get("cognitoIdentityId"),
            cognito_identity_pool_id=identity.get("cognitoIdentityPoolId"),
        ),
        tenant_id=headers.get("lambda-runtime-aws-tenant-id"),
    )


class Fault(Exception):
    """An error that has a name of its own in Lambda."""

    def __init__(self, name, message, trace=()):
        super().__init__(message)
        self.name = name
        self.trace = list(trace)


def described(error, request_id=""):
    if isinstance(error, Fault):
        name, trace = error.name, error.trace
    else:
        # What is above the function's own code is not its affair.
        name = type(error).__name__
        frames = traceback.extract_tb(error.__traceback__)
        frames = [tuple(frame) for frame in frames if frame.filename != __file__]
        trace = traceback.format_list(frames)
    # One line, so that a log keeps it together.
    text = "".join([f"[ERROR] {name}: {error}\n", "Traceback (most recent call last):\n", *trace])
    print(text.rstrip("\n").replace("\n", "\r"), flush=True)
    shown = {"errorMessage": str(error), "errorType": name, "requestId": request_id}
    return name, json.dumps({**shown, "stackTrace": trace}).encode()


def load(handler):
    try:
        module_name, function_name = handler.rsplit(".", 1)
    except ValueError as error:
        raise Fault("Runtime.MalformedHandlerName", f"Bad handler '{handler}': {error}") from None
    if module_name.split(".")[0] in sys.builtin_module_names:
        text = f"Cannot use built-in module {module_name} as a handler module"
        raise Fault("Runtime.BuiltInModuleConflict", text)
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        text = f"Unable to import module '{module_name}': {error}"
        raise Fault("Runtime.ImportModuleError", text) from None
    except SyntaxError as error:
        place = f'  File "{error.filename}" Line {error.lineno}\n    {error.text}'
        text = f"Syntax error in module '{module_name}': {error}"
        raise Fault("Runtime.UserCodeSyntaxError", text, [place]) from None
    if not hasattr(module, function_name):
        text = f"Handler '{function_name}' missing on module '{module_name}'"
        raise Fault("Runtime.HandlerNotFound", text)
    return getattr(module, function_name)


def event_of(body):
    text = body.decode()

    def refuse(constant):
        raise json.JSONDecodeError("Expecting value", text, text.index(constant))

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise Fault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from None


# No string of a function begins like this.
NUMBER = f"number {os.urandom(16).hex()} "
NUMBERS = re.compile(f'"{NUMBER}([^"]*)"')


def other(value):
    """What Lambda takes besides the types of JSON."""
    # A function that has one has paid for the module already.
    decimal = sys.modules.get("decimal")
    if decimal and isinstance(value, decimal.Decimal):
        return float("nan") if value.is_nan() else f"{NUMBER}{value}"
    if isinstance(value, bytes):
        return value.decode()
    if callable(getattr(value, "_asdict", None)):
        return value._asdict()
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


SIMPLE = frozenset([str, int, float, bool, type(None)])


def has_named_tuples(value):
    """Lambda shows them as objects, where json would show arrays."""
    rest, seen = [value], set()
    while rest:
        one = rest.pop()
        if isinstance(one, tuple) and hasattr(one, "_asdict"):
            return True
        if isinstance(one, (dict, list, tuple)) and id(one) not in seen:
            seen.add(id(one))
            inner = one.values() if isinstance(one, dict) else one
            # Most have nothing to look into.
            if not SIMPLE.issuperset(map(type, inner)):
                rest.extend(inner)
    return False


def without_named_tuples(value):
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {key: without_named_tuples(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_named_tuples(inner) for inner in value]
    return value


def marshalled(result):
    """The result as it is sent, and its kind."""
    if isinstance(result, bytes):
        return result, "application/unknown"
    if has_named_tuples(result):
        result = without_named_tuples(result)
    text = json.dumps(result, default=other).replace("\x7f", "\\u007f")
    if NUMBER in text:
        text = NUMBERS.sub(r"\1", text)
    return text.encode(), "application/json"


def call(function, headers, body):
    context = context_of(headers)
    result = function(event_of(body), context)
    try:
        return marshalled(result)
    except Exception as error:
        raise Fault("Runtime.MarshalError", f"Unable to marshal response: {error}") from None


class LogHandler(logging.Handler):
    """Writes records as Lambda does, with the id of the request at hand."""

    request_id = ""

    def emit(self, record):
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        moment = f"{moment}.{int(record.msecs):03d}Z"
        text = f"[{record.levelname}]\t{moment}\t{self.request_id}\t{self.format(record)}"
        print(text.replace("\n", "\r"), flush=True)


def main():
    sys.stdout.reconfigure(line_buffering=True, errors="replace")
    sys.stderr.reconfigure(line_buffering=True, errors="replace")
    sys.path[0] = os.environ.get("LAMBDA_TASK_ROOT", os.getcwd())
    log = LogHandler()
    logging.getLogger().addHandler(log)
    api = Api(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        function = load(os.environ.get("_HANDLER", ""))
    except Exception as error:
        name, body = described(error)
        api.request("POST", "/init/error", body, [("Lambda-Runtime-Function-Error-Type", name)])
        sys.exit(1)
    while True:
        serve(api, function, log)


def serve(api, function, log):
    headers, body = api.request("GET", "/invocation/next")
    request_id = log.request_id = headers["lambda-runtime-aws-request-id"]
    os.environ.pop("_X_AMZN_TRACE_ID", None)
    if "lambda-runtime-trace-id" in headers:
        os.environ["_X_AMZN_TRACE_ID"] = headers["lambda-runtime-trace-id"]
    try:
        result, kind = call(function, headers, body)
    except Exception as error:
        _, text = described(error, request_id)
        api.post(f"/invocation/{request_id}/error", text)
    else:
        api.post(f"/invocation/{request_id}/response", result, kind)


if __name__ == "__main__":
    try:
        main()
    except (ConnectionError, KeyError):
        # The engine is gone, or does not want this process any more.
        sys.exit(1)
