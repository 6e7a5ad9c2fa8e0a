// A handler that does what its event says.
class Plain extends Error {}

exports.handler = (event, context, callback) => {
  switch (event.do) {
    case "callback": return callback(null, event.with);
    case "callback error": return callback("error");
    case "callback at once":
      context.callbackWaitsForEmptyEventLoop = false;
      setTimeout(() => {}, 60000).unref();
      setInterval(() => {}, 1000);
      return callback(null, event.with);
    case "callback then work":
      setTimeout(() => { globalThis.worked = true; }, 20);
      return callback(null, event.with);
    case "worked": return Promise.resolve(globalThis.worked ?? false);
    case "throw": {
      const error = new Error("too little");
      error.name = "InsufficientFundsError";
      throw error;
    }
    case "throw string": throw "error";
    case "reject plain": return Promise.reject(new Plain("who am I"));
    case "never": return new Promise(() => {});
    case "nothing": return undefined;
    case "exception later":
      setTimeout(() => null.x, 1);
      return new Promise(() => {});
    case "rejection later":
      Promise.reject(new Error("boom"));
      return new Promise((resolve) => setTimeout(resolve, 60000));
    case "exception between calls":
      setTimeout(() => { throw new Error("between"); }, 50);
      return Promise.resolve(process.pid);
    case "bigint": return Promise.resolve(10n);
    case "nan": return Promise.resolve(NaN);
    case "succeed": return context.succeed(event.with);
    case "fail": return context.fail(new RangeError("far"));
    case "exit": return process.exit(event.with);
    case "signal": return process.kill(process.pid, event.with);
    case "context": {
      const left = context.getRemainingTimeInMillis();
      return Promise.resolve([
        context.awsRequestId, context.functionName, context.functionVersion, context.memoryLimitInMB,
        context.invokedFunctionArn, context.clientContext?.custom, 0 < left && left <= event.with,
      ]);
    }
    case "log":
      console.log("hello", { a: 1 });
      return Promise.reject(new Error("logged"));
    case "pid": return Promise.resolve(process.pid);
    default: return Promise.resolve(event);
  }
};
exports.nested = { handler: async (event) => ["nested", event] };
exports.text = "not a function";
