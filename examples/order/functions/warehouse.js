const asked = require("./asked");

exports.fulfill = async (order, context) => {
  asked.fail(order, context);
  return { ...order, trackingNumber: `tr-${order.orderId}` };
};
