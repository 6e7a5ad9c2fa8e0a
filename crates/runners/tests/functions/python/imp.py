import nothere
