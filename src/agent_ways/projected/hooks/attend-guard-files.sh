#!/bin/sh
# PreToolUse hook of agent-ways, shipped inactive: refuses reading or changing the message bus by hand. Its matcher:
# "Bash|Read|Edit|Write|MultiEdit|NotebookEdit|Glob|Grep".
# The command exits 10 to refuse, which the client is told as 2; whatever else happens, the tool goes ahead.
attend=${0%/hooks/*}/bin/attend # the target's own
[ -x "$attend" ] || attend=$(command -v attend) || attend=${XDG_BIN_HOME:-$HOME/.local/bin}/attend
[ -x "$attend" ] || exit 0
"$attend" hook guard-files
[ $? -eq 10 ] && exit 2
exit 0
