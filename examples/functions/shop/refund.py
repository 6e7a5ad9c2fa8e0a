import json
import sys

event = json.load(sys.stdin)
json.dump({"refunded": event.get("charged")}, sys.stdout)
