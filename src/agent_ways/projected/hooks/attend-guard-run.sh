#!/bin/sh
# PreToolUse hook of agent-ways, shipped inactive: refuses `attend run` from Bash, since it belongs to the Monitor tool.
# Its matcher must be "Bash|Monitor": to one of "Bash" alone the client shows Monitor's commands as Bash's too (2.1.332).
# The command exits 10 to refuse, which the client is told as 2; whatever else happens, the tool goes ahead.
attend=${0%/hooks/*}/bin/attend # the target's own
[ -x "$attend" ] || attend=$(command -v attend) || attend=${XDG_BIN_HOME:-$HOME/.local/bin}/attend
[ -x "$attend" ] || exit 0
"$attend" hook guard-run
[ $? -eq 10 ] && exit 2
exit 0
