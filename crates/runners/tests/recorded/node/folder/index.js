exports.handler = async (event) => [require("path").basename(__dirname), event];
