// Handlers, one for each case. Traces name lines: new ones go to the end.

class Plain extends Error {}

class Named extends Error {
  constructor(message) {
    super(message);
    this.name = "NamedError";
  }
}

const never = () => new Promise(() => {});

exports.echo = async (event) => event;
exports.nothing = async () => {};
exports.returnsNothing = () => {};
exports.returnsPlainly = () => 7;

exports.rejects = async () => {
  const error = new Error("too little");
  error.name = "InsufficientFundsError";
  throw error;
};
exports.throws = () => {
  throw new TypeError("at once");
};
exports.rejectsPlain = async () => {
  throw new Plain("who am I");
};
exports.rejectsNamed = async () => {
  throw new Named("I am");
};
exports.rejectsWithCause = async () => {
  throw Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "E_OUTER", extra: 1 });
};
exports.rejectsUnicode = async () => {
  throw new Error("naïve → 漢字 😀\nsecond \"line\"\t\x7f");
};
exports.rejectsWithoutMessage = async () => {
  throw new Error();
};
exports.rejectsWithoutStack = async () => {
  throw Object.assign(new Error("no stack"), { stack: undefined });
};
exports.rejectsUndefined = () => Promise.reject();
exports.rejectsNull = () => Promise.reject(null);
exports.rejectsObject = () => Promise.reject({ code: 5 });
exports.rejectsLookalike = () => Promise.reject({ name: "Like", message: "an error", stack: "Like: an error\n    at home" });
exports.rejectsNobody = () => Promise.reject(Object.create(null));
exports.rejectsNumber = () => Promise.reject(0);
exports.throwsString = () => {
  throw "error";
};
exports.throwsUndefined = () => {
  throw undefined;
};

exports.callsBack = (event, context, callback) => {
  callback(null, event);
};
exports.callsBackError = (event, context, callback) => {
  callback("error");
};
exports.callsBackErrorObject = (event, context, callback) => {
  callback(new RangeError("far"));
};
exports.callsBackErrorWhileBusy = (event, context, callback) => {
  setInterval(() => {}, 1000);
  callback("error");
};
exports.callsBackTwice = (event, context, callback) => {
  callback(null, 1);
  callback("error");
  callback(null, 2);
};
exports.callsBackThenThrows = (event, context, callback) => {
  callback(null, 1);
  throw new Error("after");
};
exports.callsBackThenWorks = (event, context, callback) => {
  const result = { worked: false };
  setTimeout(() => (result.worked = true), 20);
  callback(null, result);
};
exports.callsBackAtOnce = (event, context, callback) => {
  context.callbackWaitsForEmptyEventLoop = false;
  setInterval(() => {}, 1000);
  callback(null, event);
};
exports.callsBackUnserialisable = (event, context, callback) => {
  callback(null, 10n);
};
exports.callsBackLater = (event, context, callback) => {
  setTimeout(() => callback(null, event), 1);
};
exports.callsBackAndResolves = async (event, context, callback) => {
  callback(null, "called back");
  return "resolved";
};
exports.succeeds = (event, context) => {
  setInterval(() => {}, 1000);
  context.succeed(event);
};
exports.fails = (event, context) => {
  context.fail(new RangeError("far"));
};
exports.failsWithNothing = (event, context) => {
  context.fail();
};
exports.isDone = (event, context) => {
  context.done(null, event);
};
exports.isDoneWithError = (event, context) => {
  context.done("error", event);
};

exports.bigint = async () => 10n;
exports.circular = async () => {
  const loop = [];
  loop.push(loop);
  return loop;
};
exports.returnsFunction = async () => () => {};
exports.notNumbers = async () => [NaN, Infinity, -Infinity];
exports.notNumber = async () => NaN;
exports.text = async () => ({
  text: "naïve 漢字 😀 \u2028 \x7f \" \\ / \ud800", n: [1, -0, 1e100, 1.5], d: new Date(0), u: undefined, b: Buffer.from("é"),
});

exports.never = never;
exports.neverButBusy = () => {
  setTimeout(() => {}, 20);
  return never();
};
exports.throwsLater = () => {
  setTimeout(() => null.x, 1);
  return never();
};
exports.throwsStringLater = () => {
  setTimeout(() => {
    throw "later";
  }, 1);
  return never();
};
exports.rejectsLater = () => {
  Promise.reject(new Error("boom"));
  return new Promise((resolve) => setTimeout(resolve, 60000));
};
exports.rejectsUndefinedLater = () => {
  Promise.reject();
  return new Promise((resolve) => setTimeout(resolve, 60000));
};
exports.rejectsStringLater = () => {
  Promise.reject("word");
  return new Promise((resolve) => setTimeout(resolve, 60000));
};

exports.exits = (event) => process.exit(event);
exports.signals = (event) => {
  process.kill(process.pid, event);
  return new Promise((resolve) => setTimeout(resolve, 60000));
};
exports.aborts = () => process.abort();
exports.large = async (event) => "x".repeat(event);
exports.leavesATimer = async () => {
  setInterval(() => {}, 1);
};

exports.sees = async (event, context) => {
  const left = context.getRemainingTimeInMillis();
  return [Object.keys(context), context, 0 < left && left <= 60000, process.env._X_AMZN_TRACE_ID];
};
exports.hasNoTimeLeft = async (event, context) => context.getRemainingTimeInMillis() < 0;

exports.nested = { handler: async (event) => ["nested", event] };
exports.textHandler = "not a function";
