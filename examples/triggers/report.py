"""Reads the event of a timer and reports what it is for."""

import json
import sys

event = json.load(sys.stdin)
json.dump({"reportedFor": event["scheduledFor"], "late": event["isPastDue"]}, sys.stdout)
