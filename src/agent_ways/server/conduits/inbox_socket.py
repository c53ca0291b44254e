"""The inbox socket: the client's own way for messages between sessions, used for our own session only (CON-2).

Owns the conduit `inbox socket`. It needs no launch flag. The client accepts what its own child posts, in every
permission mode, so the server posts itself, never through a helper, and only into the session that started it. A
`session_id` in the frame keeps a message out of the conversation that `/clear` began meanwhile. There is no receipt;
the transcript is the proof. (Frame, wrapper, limits: seen on 2.1.285 and 2.1.332.)
"""

from __future__ import annotations

import os
import sys

from agent_ways.base.jsontext import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Final

    from agent_ways.claude.reach import Reach
    from agent_ways.server.conduits import Event, View

TOKEN = "CLAUDE_CODE_MESSAGING_TOKEN"  # noqa: S105 - the variable's name
OPEN = '<cross-session-message from-name="agent-ways">\n'
CLOSE = "\n</cross-session-message>"
LONGEST = 900_000
"""Characters of a line that the client takes for sure (seen: more than 1,048,576 drops the connection)."""
PATIENCE = 1.0
"""Seconds for connecting and writing; a stopped client takes both at once."""


class InboxSocket:
    """`pid` is this process, whose posts the client verifies as its own child's."""

    name = "inbox socket"

    def __init__(self, pid: int) -> None:
        self._pid: Final = pid

    def reach(self, session: View) -> Reach:
        """See `Conduit.reach`."""
        from agent_ways.claude import proof, reach

        return reach.inbox_socket(
            session.record, session.config_dir, lambda: proof.peer_proof(session.rows(), self._pid)
        )

    def push(self, session: View, event: Event) -> str | None:
        """See `Conduit.push`."""
        import socket  # 8 ms, for the first push only

        path = session.record.socket
        if not path:
            return "the session record names no inbox socket"
        data = frames(session.record.session, session.env.get(TOKEN, ""), event)
        if len(data) > LONGEST:
            return f"the message is too long for the inbox socket ({len(data)} characters)"
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(PATIENCE)
                connection.connect(path)
                if not _is_ours(connection):
                    return "the inbox socket belongs to somebody else"
                connection.sendall(data)
        except (OSError, ValueError) as error:
            return f"the inbox socket can not be written to: {error}"
        return None


def _is_ours(connection: socket.socket) -> bool:
    """Whether who listens runs as this user: a path that was left in a shared folder can be anybody's."""
    import socket

    option = getattr(socket, "SO_PEERCRED", None)  # Linux alone; elsewhere the folder's mode is what there is
    if option is None:
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, option, 12)  # pid, uid, gid
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.geteuid()


def frames(session_id: str, token: str, event: Event) -> bytes:
    """The lines of one post: the auth line, then the message in the client's own wrapper, which its screen folds."""
    message = {
        "type": "user",
        "session_id": session_id,
        "priority": "next" if event.urgent else "later",
        "message": {"role": "user", "content": f"{OPEN}{event.text}{CLOSE}"},
    }
    lines = [{"type": "auth", "token": token}] if token else []
    return "".join(dumps(line) + "\n" for line in [*lines, message]).encode("ascii")
