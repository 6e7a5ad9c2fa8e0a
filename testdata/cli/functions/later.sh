# The second attempt succeeds.
[ "$EVERSTEP_ATTEMPT" = 2 ] && exec cat
echo 'not yet' >&2
exit 3
