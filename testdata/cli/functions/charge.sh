# Fails as a handler does that raises an error.
cat <<'END'
{"errorType": "NoFunds", "errorMessage": "the card has no funds",
 "stackTrace": ["  File \"app.py\", line 3, in charge\n    raise NoFunds()\n"]}
END
exit 1
