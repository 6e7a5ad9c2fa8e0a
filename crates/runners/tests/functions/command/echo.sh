#!/bin/sh
# Does what its argument says.
case "$1" in
  echo) cat ;;
  silent) ;;
  words) echo 'not json' ;;
  fail) echo 'first' >&2; echo 'the disk is full' >&2; exit 3 ;;
  mute) exit 4 ;;
  named) echo '{"errorType":"OutOfStockError","errorMessage":"no widgets"}'; exit 1 ;;
  signal) kill -SEGV $$ ;;
  sleep) sleep 60 ;;
  env) printf '["%s","%s"]' "$EVERSTEP_REQUEST_ID" "$EVERSTEP_ATTEMPT" ;;
  large) head -c 7000000 /dev/zero | tr '\0' 1 ;;
esac
