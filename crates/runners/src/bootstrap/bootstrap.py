"""Calls a Lambda handler for each event, over the Lambda Runtime API. Nothing but the standard library."""

import importlib
import json
import logging
import os
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

    def post(self, path, body, *headers):
        headers = (("Content-Type", "application/json"), *headers)
        self.request("POST", path, body.encode(), headers)


class Record:
    """Named values, shown with their names."""

    def __init__(self, **values):
        self.__dict__.update(values)

    def __repr__(self):
        shown = [(name, value) for name, value in self.__dict__.items() if name[0] != "_"]
        inner = ",".join(f"{name}={value}" for name, value in shown)
        return f"{type(self).__name__}([{inner}])"


class ClientContext(Record):
    pass


class CognitoIdentity(Record):
    pass


class LambdaContext(Record):
    def __init__(self, deadline_ms, **values):
        super().__init__(**values)
        self.__deadline_ms = deadline_ms

    def get_remaining_time_in_millis(self):
        return max(self.__deadline_ms - int(time.time() * 1000), 0)

    def log(self, text):
        sys.stdout.write(str(text))


def client_context(text):
    if not text:
        return None
    given = json.loads(text)
    client = given.get("client")
    return ClientContext(custom=given.get("custom"), env=given.get("env"), client=client)


def context_of(headers):
    env = os.environ
    return LambdaContext(
        int(headers.get("lambda-runtime-deadline-ms", "0")),
        aws_request_id=headers["lambda-runtime-aws-request-id"],
        log_group_name=env.get("AWS_LAMBDA_LOG_GROUP_NAME"),
        log_stream_name=env.get("AWS_LAMBDA_LOG_STREAM_NAME"),
        function_name=env.get("AWS_LAMBDA_FUNCTION_NAME"),
        memory_limit_in_mb=env.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE"),
        function_version=env.get("AWS_LAMBDA_FUNCTION_VERSION"),
        invoked_function_arn=headers.get("lambda-runtime-invoked-function-arn"),
        client_context=client_context(headers.get("lambda-runtime-client-context")),
        identity=CognitoIdentity(cognito_identity_id=None, cognito_identity_pool_id=None),
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
    return name, json.dumps({**shown, "stackTrace": trace})


def load(handler):
    try:
        module_name, function_name = handler.rsplit(".", 1)
    except ValueError as error:
        raise Fault("Runtime.MalformedHandlerName", f"Bad handler '{handler}': {error}") from None
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        text = f"Unable to import module '{module_name}': {error}"
        raise Fault("Runtime.ImportModuleError", text) from None
    except SyntaxError as error:
        place = f'  File "{error.filename}" Line {error.lineno}\n    {error.text}'
        text = f"Syntax error in module '{module_name}': {error}"
        raise Fault("Runtime.UserCodeSyntaxError", text, [place]) from None
    function = getattr(module, function_name, None)
    if function is None:
        text = f"Handler '{function_name}' missing on module '{module_name}'"
        raise Fault("Runtime.HandlerNotFound", text)
    return function


def call(function, body, context):
    try:
        event = json.loads(body)
    except ValueError as error:
        raise Fault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from None
    result = function(event, context)
    try:
        return json.dumps(result)
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
        api.post("/init/error", body, ("Lambda-Runtime-Function-Error-Type", name))
        sys.exit(1)
    while True:
        headers, body = api.request("GET", "/invocation/next")
        request_id = log.request_id = headers["lambda-runtime-aws-request-id"]
        try:
            result = call(function, body, context_of(headers))
        except Exception as error:
            _, text = described(error, request_id)
            api.post(f"/invocation/{request_id}/error", text)
        else:
            api.post(f"/invocation/{request_id}/response", result)


if __name__ == "__main__":
    try:
        main()
    except (ConnectionError, KeyError):
        # The engine is gone, or does not want this process any more.
        sys.exit(1)
