export const handler = async (event) => ["esm", event];
