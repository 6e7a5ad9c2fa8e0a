"""Counts the lines of the file that an event names. A file without lines cannot be imported."""

import json
import sys

event = json.load(sys.stdin)
with open(event["path"]) as file:
    lines = len(file.readlines())
if lines == 0:
    sys.exit(f"{event['name']} is empty")
json.dump({"file": event["name"], "lines": lines}, sys.stdout)
