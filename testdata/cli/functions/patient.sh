echo 'the bank sleeps' >&2
exit 3
