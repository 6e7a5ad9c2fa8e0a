Promise.reject(new Error("at start"));
await new Promise((resolve) => setTimeout(resolve, 60000));
