await new Promise(() => {});
export const handler = async () => 1;
