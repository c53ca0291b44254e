#!/bin/sh
# Stop hook of agent-ways: shows waiting messages at the end of a turn. Says nothing where there are none.
attend=${0%/hooks/*}/bin/attend # the target's own
[ -x "$attend" ] || attend=$(command -v attend) || attend=${XDG_BIN_HOME:-$HOME/.local/bin}/attend
[ -x "$attend" ] || exit 0
exec "$attend" inbox --drain --format hook
