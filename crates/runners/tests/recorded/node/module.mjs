import { sep } from "node:path";

export const handler = async (event) => [sep, event];
export default { other: handler };
