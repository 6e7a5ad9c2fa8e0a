require("nothere")
