import "nothere";
