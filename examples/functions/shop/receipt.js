exports.handler = async (event) => ({ sent: true, charged: event.charged });
