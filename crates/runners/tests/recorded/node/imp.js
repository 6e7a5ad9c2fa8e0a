require("nothere");
