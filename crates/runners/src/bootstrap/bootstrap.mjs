// Calls a Lambda handler for each event, over the Lambda Runtime API. Nothing but Node.js itself.

import { existsSync } from "node:fs";
import { connect } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

const { env } = process;
const ROOT = "/2018-06-01/runtime";
const EXIT_REJECTION = 128;
const EXIT_EXCEPTION = 129;

/** One connection to the engine, on which requests and answers take turns. */
class Api {
  constructor(address) {
    const [host, port] = address.split(":");
    this.address = address;
    this.received = Buffer.alloc(0);
    this.socket = connect({ host, port, noDelay: true });
    this.socket.on("data", (data) => {
      this.received = Buffer.concat([this.received, data]);
      this.read();
    });
    // The engine is gone: nobody would ever stop this process.
    const leave = () => process.exit(1);
    this.socket.on("error", leave).on("close", leave);
  }

  request(method, path, body = "", headers = {}) {
    const bytes = Buffer.from(body);
    const lines = [`${method} ${ROOT}${path} HTTP/1.1`, `Host: ${this.address}`];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (method === "POST") lines.push(`Content-Length: ${bytes.length}`);
    // While there is something to wait for, the process is not at its end.
    this.socket.ref();
    this.socket.write(Buffer.concat([Buffer.from(lines.join("\r\n") + "\r\n\r\n"), bytes]));
    return new Promise((answered) => (this.answered = answered));
  }

  read() {
    const end = this.received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const headers = {};
    for (const line of this.received.toString("utf8", 0, end).split("\r\n").slice(1)) {
      const colon = line.indexOf(":");
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const stop = end + 4 + Number(headers["content-length"] ?? 0);
    if (this.received.length < stop) return;
    const body = this.received.toString("utf8", end + 4, stop);
    this.received = this.received.subarray(stop);
    this.socket.unref();
    this.answered({ headers, body });
  }

  post(path, body, headers = {}) {
    return this.request("POST", path, body, { "Content-Type": "application/json", ...headers });
  }
}

const errorNamed = (name, message) => Object.assign(new Error(message), { name });

function described(error) {
  if (!(error instanceof Error)) {
    return { errorType: typeof error, errorMessage: String(error), trace: [] };
  }
  const lines = String(error.stack ?? "").split("\n");
  const trace = lines.filter((line) => !line.includes(import.meta.url));
  const shown = { errorType: error.name, errorMessage: error.message, trace };
  // A subclass of Error is reported by the name it inherits, which few expect.
  const className = error.constructor?.name;
  if (className && className !== error.name && !error.name.startsWith("Runtime.")) {
    shown["everstep.className"] = className;
  }
  return shown;
}

/** `folder/module.some.function`: the module's name ends at the first dot. */
async function load(handler) {
  const slash = handler.lastIndexOf("/") + 1;
  const [moduleName, ...names] = handler.slice(slash).split(".");
  if (!moduleName || names.length === 0 || handler.includes("..")) {
    throw errorNamed("Runtime.MalformedHandlerName", "Bad handler");
  }
  const module = await importModule(handler.slice(0, slash) + moduleName);
  const found = names.reduce((value, name) => value?.[name], module)
    ?? names.reduce((value, name) => value?.[name], module.default);
  const name = `${moduleName}.${names.join(".")}`;
  if (found === undefined) {
    throw errorNamed("Runtime.HandlerNotFound", `${name} is undefined or not exported`);
  }
  if (typeof found !== "function") {
    throw errorNamed("Runtime.HandlerNotFound", `${name} is not a function`);
  }
  return found;
}

async function importModule(name) {
  const path = resolve(env.LAMBDA_TASK_ROOT ?? ".", name);
  const file = ["", ".js", ".mjs", ".cjs"].map((ending) => path + ending).find((file, index) =>
    index > 0 && existsSync(file));
  if (!file) {
    throw errorNamed("Runtime.ImportModuleError", `Error: Cannot find module '${name}'`);
  }
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw errorNamed("Runtime.UserCodeSyntaxError", String(error));
    }
    if (error?.code === "MODULE_NOT_FOUND" || error?.code === "ERR_MODULE_NOT_FOUND") {
      throw errorNamed("Runtime.ImportModuleError", String(error));
    }
    throw error;
  }
}

function contextOf(headers, finish) {
  const header = (name) => headers[`lambda-runtime-${name}`];
  const deadline = Number(header("deadline-ms") ?? 0);
  const context = {
    callbackWaitsForEmptyEventLoop: true,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: header("client-context") ? JSON.parse(header("client-context")) : undefined,
    identity: undefined,
    invokedFunctionArn: header("invoked-function-arn"),
    awsRequestId: header("aws-request-id"),
    getRemainingTimeInMillis: () => Math.max(deadline - Date.now(), 0),
    done: (error, result) => finish(error, result, true),
    succeed: (result) => finish(null, result, true),
    fail: (error) => finish(error ?? "handled", undefined, true),
  };
  return context;
}

/** Settles with what the handler returns, throws, or hands to its callback. */
function call(handler, event, headers) {
  return new Promise((succeed, fail) => {
    const settle = ({ error, result }) => {
      atEnd = null;
      error === null || error === undefined ? succeed(result) : fail(error);
    };
    // A handler that can do nothing more has returned nothing.
    atEnd = () => settle({});
    const finish = (error, result, now) => {
      if (now || !context.callbackWaitsForEmptyEventLoop) settle({ error, result });
      else atEnd = () => settle({ error, result });
    };
    const context = contextOf(headers, finish);
    const returned = handler(event, context, (error, result) => finish(error, result, false));
    if (typeof returned?.then === "function") {
      returned.then((result) => settle({ result }), (error) => settle({ error: error ?? String(error) }));
    }
  });
}

function marshalled(result) {
  try {
    return JSON.stringify(result === undefined ? null : result) ?? "null";
  } catch {
    throw new Error("Unable to stringify response body");
  }
}

let requestId = "";
/** What to do when nothing is left to do; there is a call in hand as long as there is something. */
let atEnd = null;
let started = false;

for (const [name, level] of [
  ["debug", "DEBUG"], ["log", "INFO"], ["info", "INFO"], ["warn", "WARN"], ["error", "ERROR"],
  ["trace", "TRACE"],
]) {
  console[name] = (...parts) => {
    const text = format(...parts).replaceAll("\n", "\r");
    process.stdout.write(`${new Date().toISOString()}\t${requestId}\t${level}\t${text}\n`);
  };
}

const api = new Api(env.AWS_LAMBDA_RUNTIME_API);

async function report(path, error, title) {
  const shown = described(error);
  console.error(`${title}\t${JSON.stringify(shown)}`);
  await api.post(path, JSON.stringify(shown), { "Lambda-Runtime-Function-Error-Type": shown.errorType });
}

/** Outside of the handler's promise: the process cannot be trusted any more. */
async function crash(error, title, code) {
  if (!started) {
    started = true;
    await report("/init/error", error, title);
  } else if (atEnd) {
    atEnd = null;
    await report(`/invocation/${requestId}/error`, error, title);
  } else {
    // Between two calls, or while one is being answered: there is nobody to tell.
    console.error(`${title}\t${JSON.stringify(described(error))}`);
  }
  process.exit(code);
}

process.on("beforeExit", () => atEnd?.());
process.on("uncaughtException", (error) => crash(error, "Uncaught Exception", EXIT_EXCEPTION));
process.on("unhandledRejection", (reason) => {
  const error = errorNamed("Runtime.UnhandledPromiseRejection", String(reason));
  error.stack = `${error.name}: ${error.message}\n` + (reason?.stack ?? "").split("\n").slice(1).join("\n");
  crash(error, "Unhandled Promise Rejection", EXIT_REJECTION);
});

let handler;
try {
  handler = await load(env._HANDLER ?? "");
  started = true;
} catch (error) {
  await crash(error, "Uncaught Exception", EXIT_EXCEPTION);
}
while (true) {
  const { headers, body } = await api.request("GET", "/invocation/next");
  requestId = headers["lambda-runtime-aws-request-id"];
  if (!requestId) process.exit(1);
  try {
    const result = marshalled(await call(handler, JSON.parse(body), headers));
    await api.post(`/invocation/${requestId}/response`, result);
  } catch (error) {
    await report(`/invocation/${requestId}/error`, error, "Invoke Error");
  }
}
