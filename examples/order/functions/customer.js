const asked = require("./asked");

exports.notify = async (order, context) => {
  asked.fail(order, context);
  // An order that could not be fulfilled arrives as the outputs of two branches.
  const { orderId, error } = Array.isArray(order) ? order[0] : order;
  console.log(`order ${orderId}: notified the customer about ${error?.Error}`);
  return order;
};
