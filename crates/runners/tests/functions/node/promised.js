// The same handler, for clients that know no callbacks.
const { handler } = require("./index");

exports.handler = async (event, context) => handler(event, context);
