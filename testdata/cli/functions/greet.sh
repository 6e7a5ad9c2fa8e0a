printf '{"greeted":%s}' "$(cat)"
