function start() {
  throw new TypeError("at start");
}
start();
