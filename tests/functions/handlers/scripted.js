// The counterpart of scripted.py, as far as it is needed.

const fs = require("node:fs");

exports.handler = async (event, context) => {
  const told = context.clientContext.custom;
  const attempt = Number(told["everstep.attempt"]);
  const line = { function: context.functionName, id: context.awsRequestId, attempt, pid: process.pid };
  line.deadline = Date.now() + context.getRemainingTimeInMillis();
  fs.appendFileSync(process.env.WITNESS, JSON.stringify({ ...line, told, event }) + "\n");
  const entries = (event.plan ?? process.env.PLAN ?? "ok").split(",");
  const [wait, action] = parts(entries[Math.min(attempt, entries.length) - 1]);
  if (wait) await new Promise((resolve) => setTimeout(resolve, wait * 1000));
  if (action === "ok") return event.output ?? event;
  if (action === "exit") process.exit(3);
  const error = new Error("as planned");
  error.name = action;
  throw error;
};

function parts(entry) {
  const [, wait, action] = /^(?:sleep=([0-9.]+)\+)?(.*)$/.exec(entry);
  return [wait && Number(wait), action];
}
