throw new TypeError("at start");
