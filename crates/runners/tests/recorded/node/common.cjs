exports.handler = async (event) => ["common", event];
