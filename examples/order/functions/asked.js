// What goes wrong because the order asks for it: the counterpart of asked.py.

const fs = require("node:fs");

const WITNESS = process.env.WITNESS ?? ".calls.jsonl";
const MESSAGES = { WarehouseError: "no parcel service answers" };

exports.fail = (order, context) => {
  const one = Array.isArray(order) ? order[0] : order;
  const wish = one.fail?.[context.functionName] ?? {};
  const line = { function: context.functionName, requestId: context.awsRequestId, orderId: one.orderId ?? null };
  Object.assign(line, { pid: process.pid, error: errorOf(wish, line) });
  fs.appendFileSync(WITNESS, JSON.stringify(line) + "\n");
  if (line.error === "Exit") process.exit(1);
  if (line.error) {
    const error = new Error(MESSAGES[line.error] ?? "as the order asked for");
    error.name = line.error;
    throw error;
  }
};

// An attempt that is made again, because the engine was killed, ends as it would have ended.
function errorOf(wish, line) {
  const failed = new Set();
  for (const call of calls(line)) {
    if (call.requestId === line.requestId) return call.error;
    if (call.error) failed.add(call.requestId);
    else failed.clear();
  }
  return (failed.size < (wish.times ?? Infinity) && wish.error) || null;
}

// Those of the same function for the same order.
function calls(line) {
  if (!fs.existsSync(WITNESS)) return [];
  const whole = fs.readFileSync(WITNESS, "utf8").split("\n").slice(0, -1);
  const same = (call) => call.function === line.function && call.orderId === line.orderId;
  return whole.map((text) => JSON.parse(text)).filter(same);
}
