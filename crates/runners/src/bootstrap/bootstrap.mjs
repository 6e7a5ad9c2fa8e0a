// Calls a Lambda handler for each event, over the Lambda Runtime API. Nothing but Node.js itself.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, types } from "node:util";

const { env } = process;
const require = createRequire(import.meta.url);
const ROOT = "/2018-06-01/runtime";
const EXIT_REJECTION = 128;
const EXIT_EXCEPTION = 129;

/** One connection to the engine, on which requests and answers take turns. */
class Api {
  constructor(address) {
    const [host, port] = address.split(":");
    this.address = address;
    this.received = Buffer.alloc(0);
    this.socket = connect({ host, port, noDelay: true }).unref();
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

/** Errors that have a name of their own in Lambda. */
function named(name) {
  const kind = class extends Error {};
  Object.defineProperty(kind.prototype, "name", { value: `Runtime.${name}` });
  return kind;
}
const ImportModuleError = named("ImportModuleError");
const HandlerNotFound = named("HandlerNotFound");
const MalformedHandlerName = named("MalformedHandlerName");
const UserCodeSyntaxError = named("UserCodeSyntaxError");
const UnhandledPromiseRejection = named("UnhandledPromiseRejection");

const isNothing = (value) => value === undefined || value === null;

const isError = (error) => types.isNativeError(error)
  || ["name", "message", "stack"].every((key) => error?.[key] && typeof error[key] === "string");

const visible = (text) => text?.replace(/\x7F/g, "%7F");

function described(error) {
  if (!isNothing(error) && !isError(error)) {
    return { errorType: typeof error, errorMessage: new Error(error).message, trace: [] };
  }
  try {
    // What is above the function's own code is not its affair.
    const trace = visible(error.stack).split("\n").filter((line) => !line.includes(import.meta.url));
    const shown = { errorType: visible(error.name), errorMessage: visible(error.message), trace };
    return { ...shown, ...className(error) };
  } catch {
    const problem = "callback called with Error argument, but there was a problem while retrieving one or more "
      + "of its message, name, and stack";
    return { errorType: "handled", errorMessage: problem };
  }
}

/** A subclass of Error that sets no name is reported by the one that it inherits, which few expect. */
function className(error) {
  const kind = error.constructor;
  const isNamed = !kind?.name || kind.name === error.name || Object.hasOwn(error, "name")
    || Object.hasOwn(kind.prototype ?? {}, "name");
  return isNamed ? {} : { "everstep.className": kind.name };
}

/** `folder/module.some.function`: the module's name ends at the first dot. */
async function load(handler) {
  if (handler.includes("..")) {
    throw new MalformedHandlerName(`'${handler}' is not a valid handler name. Use absolute paths when specifying `
      + "root directories in handler names.");
  }
  const last = basename(handler);
  const dot = last.indexOf(".");
  if (dot < 0) throw new MalformedHandlerName("Bad handler");
  const folder = handler.slice(0, handler.indexOf(last));
  const module = await loadModule(folder, last.slice(0, dot));
  const found = last.slice(dot + 1).split(".").reduce((value, name) => value && value[name], module);
  if (!found) throw new HandlerNotFound(`${handler} is undefined or not exported`);
  if (typeof found !== "function") throw new HandlerNotFound(`${handler} is not a function`);
  return found;
}

async function loadModule(folder, name) {
  try {
    return await moduleAt(env.LAMBDA_TASK_ROOT ?? process.cwd(), folder, name);
  } catch (error) {
    if (error instanceof SyntaxError) throw new UserCodeSyntaxError(String(error));
    if (error?.code === "MODULE_NOT_FOUND") throw new ImportModuleError(String(error));
    throw error;
  }
}

const imported = (file) => import(pathToFileURL(file).href);

/** As a file, in the order of Lambda; else, as Node.js finds modules. */
function moduleAt(root, folder, name) {
  const path = resolve(root, folder, name);
  const ways = [
    ["", require], [".js", isOfModules(dirname(path)) ? imported : require], [".mjs", imported], [".cjs", require],
  ];
  const found = ways.find(([ending]) => existsSync(path + ending));
  if (!found) return require(require.resolve(name, { paths: [root, folder] }));
  const [ending, load] = found;
  return load(path + ending);
}

/** Whether the nearest package.json says that `.js` means a module with imports. */
function isOfModules(folder) {
  if (folder.endsWith("/node_modules")) return false;
  const file = join(folder, "package.json");
  if (existsSync(file)) {
    try {
      return JSON.parse(readFileSync(file)).type === "module";
    } catch {
      return false;
    }
  }
  return folder !== "/" && isOfModules(dirname(folder));
}

function parsed(text, name) {
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Cannot parse ${name} as json: ${error}`);
  }
}

function contextOf(headers, base) {
  const header = (name) => headers[`lambda-runtime-${name}`];
  const deadline = Number(header("deadline-ms"));
  if (header("trace-id")) env._X_AMZN_TRACE_ID = header("trace-id");
  else delete env._X_AMZN_TRACE_ID;
  return Object.assign(base, {
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: parsed(header("client-context"), "ClientContext"),
    identity: parsed(header("cognito-identity"), "CognitoIdentity"),
    invokedFunctionArn: header("invoked-function-arn"),
    awsRequestId: header("aws-request-id"),
    tenantId: header("aws-tenant-id"),
    getRemainingTimeInMillis: () => deadline - Date.now(),
  });
}

function marshalled(result) {
  let text;
  try {
    text = JSON.stringify(result === undefined ? null : result);
  } catch {
    throw new Error("Unable to stringify response body");
  }
  // Functions and symbols have no JSON.
  if (text === undefined) throw new TypeError("Wrong arguments");
  return text;
}

/** One event: calls the handler, and answers with the first that it returns, throws or hands to a callback. */
class Call {
  isAnswered = false;
  isSettled = false;
  waits = true;

  constructor(handler, id, next) {
    Object.assign(this, { handler, id, next });
  }

  /** What the handler may call. What fails itself, because a result has no JSON, does not count. */
  first(settle) {
    return (...given) => {
      if (this.isSettled) return;
      settle(...given);
      this.isSettled = true;
    };
  }

  run(headers, body) {
    const call = this;
    const callback = this.first((error, result) => this.calledBack(error, result));
    const done = (error, result) => (isNothing(error) ? this.succeed(result) : this.fail(error));
    const context = {
      get callbackWaitsForEmptyEventLoop() {
        return call.waits;
      },
      set callbackWaitsForEmptyEventLoop(value) {
        call.waits = value;
      },
      succeed: this.first((result) => done(null, result)),
      fail: this.first((error) => done(isNothing(error) ? "handled" : error)),
      done: this.first(done),
    };
    // A handler that can do nothing more has returned nothing.
    atEnd = () => this.succeed(null);
    try {
      const returned = this.handler(JSON.parse(body), contextOf(headers, context), callback);
      if (typeof returned?.then === "function") {
        returned.then(context.succeed, context.fail).catch(context.fail);
      }
    } catch (error) {
      callback(error);
    }
  }

  calledBack(error, result) {
    atEnd = null;
    if (!isNothing(error)) this.fail(error);
    else if (!this.waits) this.succeed(result);
    else atEnd = () => setImmediate(() => this.succeed(result));
  }

  succeed(result) {
    atEnd = null;
    const text = marshalled(result);
    this.answer(() => api.post(`/invocation/${this.id}/response`, text)).then(this.next);
  }

  fail(error) {
    atEnd = null;
    const shown = described(error);
    this.answer(() => report(`/invocation/${this.id}/error`, shown, "Invoke Error")).then(this.next);
  }

  /** Of two answers, the second is nobody's. */
  answer(post) {
    if (this.isAnswered) return new Promise(() => {});
    this.isAnswered = true;
    return post();
  }
}

let requestId = "";
/** What to do when nothing is left to do. */
let atEnd = null;
/** The one in hand, or the last one. */
let call = null;

for (const [name, level] of [
  ["debug", "DEBUG"], ["log", "INFO"], ["info", "INFO"], ["warn", "WARN"], ["error", "ERROR"],
  ["trace", "TRACE"], ["fatal", "FATAL"],
]) {
  console[name] = (...parts) => {
    const text = format(...parts).replaceAll("\n", "\r");
    process.stdout.write(`${new Date().toISOString()}\t${requestId}\t${level}\t${text}\n`);
  };
}

const api = new Api(env.AWS_LAMBDA_RUNTIME_API);

function report(path, shown, title, headers) {
  console.error(`${title}\t${JSON.stringify(shown)}`);
  return api.post(path, JSON.stringify(shown), headers);
}

/** Outside of the handler's promise: the process cannot be trusted any more. */
async function crash(error, title, code) {
  const shown = described(error);
  if (!call) {
    const headers = { "Lambda-Runtime-Function-Error-Type": shown.errorType };
    await report("/init/error", shown, title, headers);
  } else if (!call.isAnswered) {
    await call.answer(() => report(`/invocation/${call.id}/error`, shown, title));
  } else {
    // Between two calls, or while one is being answered: there is nobody to tell.
    console.error(`${title}\t${JSON.stringify(shown)}`);
  }
  process.exit(code);
}

process.on("beforeExit", () => atEnd?.());
process.on("uncaughtException", (error) => crash(error, "Uncaught Exception", EXIT_EXCEPTION));
process.on("unhandledRejection", (reason) => {
  const error = new UnhandledPromiseRejection(reason);
  // Where the reason comes from, rather than where it is noticed.
  const [title] = error.stack.split("\n    at ", 1);
  const frames = String(reason?.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  error.stack = [title, ...frames].join("\n");
  crash(error, "Unhandled Promise Rejection", EXIT_REJECTION);
});

async function next(handler) {
  const { headers, body } = await api.request("GET", "/invocation/next");
  requestId = headers["lambda-runtime-aws-request-id"];
  if (!requestId) process.exit(1);
  call = new Call(handler, requestId, () => next(handler));
  call.run(headers, body);
}

let handler;
try {
  handler = await load(env._HANDLER ?? "");
} catch (error) {
  await crash(error, "Uncaught Exception", EXIT_EXCEPTION);
}
await next(handler);
