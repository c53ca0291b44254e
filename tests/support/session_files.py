"""The files of one session, as the client writes them: record, peer key, history, transcript.

Owns their shapes for both tracked versions and their places below a config dir. Must not know when what is
written. The shapes are those of files that 2.1.332 and 2.1.285 wrote; where a field's content is the vendor's
prose, ours stands in its place. Timestamps come from the clock given.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import time
import uuid
from typing import TYPE_CHECKING, Any

from tests.support.processes import start_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.plan import Plan

JSON = dict[str, Any]

MODEL = "claude-opus-5-5"
PEER_FIRST_LINE = "Another Claude session sent a message:"
PEER_PARAGRAPH = "(Here stands the client's fixed paragraph: from another session, not typed by the person.)"


def compact(value: Any) -> str:
    """JSON as the client writes it: one line, nothing escaped that need not be."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def new_id() -> str:
    """A session, prompt or row id."""
    return str(uuid.uuid4())


def milliseconds(now: float) -> int:
    """Epoch milliseconds, as records have them."""
    return int(now * 1000)


def iso(now: float) -> str:
    """UTC with milliseconds, as transcript rows have it."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
    return f"{whole}.{int(now * 1000) % 1000:03d}Z"


def project_folder(cwd: str) -> str:
    """The folder below `projects/` for a working directory; a long one is cut to 200 characters and a hash."""
    name = re.sub(r"[^A-Za-z0-9]", "-", cwd)
    if len(name) <= 200:
        return name
    return f"{name[:200]}-{hashlib.sha256(cwd.encode()).hexdigest()[:6]}"


def append_line(path: str, text: str) -> None:
    """Append one line in one write, making the file 0600 and its folders where they are missing."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, text.encode("utf-8", "surrogatepass") + b"\n")
    finally:
        os.close(fd)


class SessionRecord:
    """`sessions/<pid>.json` and the peer key beside it.

    Rewritten in place, same inode, only on changes; no heartbeat (seen 2.1.285 and 2.1.332).
    """

    def __init__(self, plan: Plan, *, pid: int, session_id: str, socket_path: str, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.folder = os.path.join(plan.config_dir, "sessions")
        self.path = os.path.join(self.folder, f"{pid}.json")
        self._key = ""
        started = milliseconds(clock())
        self.content: JSON = {
            "pid": pid,
            "sessionId": session_id,
            "cwd": plan.project,
            "startedAt": started,
            "procStart": start_of(pid),
            "version": plan.version,
            "peerProtocol": 1,
            "peerFeatures": ["notify_idle", "reply_across_default_dirs", "artifact_yield"],
            "kind": plan.kind,
            "entrypoint": plan.entrypoint,
            "pidDomain": f"linux:{_machine_id()}:{_pid_namespace()}",
        }
        if plan.version != "2.1.285":
            self.content["asksForConvertedSkills"] = None
        if "TMUX" in plan.env:
            self.content["tmux"] = "m:@0.%0"
        if socket_path:
            self.content["messagingSocketPath"] = socket_path
            self._key = os.path.join(self.folder, f"{pid}.{hashlib.sha256(socket_path.encode()).hexdigest()}.key")
        self.content |= {
            "name": f"{os.path.basename(plan.project)}-{secrets.token_hex(1)}",
            "nameSource": "derived",
            "nameSince": started,
            "status": "idle",
            "updatedAt": started,
            "statusUpdatedAt": started,
        }

    def write_key(self) -> None:
        """The peer key, there from the start on, also under a start dialog."""
        if self._key:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            names = ("procStart", "pidDomain")
            key = {"peerToken": secrets.token_hex(16), **{name: self.content[name] for name in names}}
            fd = os.open(self._key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:
                file.write(compact(key))

    def write(self) -> None:
        """Write the record as it now is."""
        self.write_raw(compact(self.content).encode())

    def write_raw(self, data: bytes) -> None:
        """Write any bytes in the record's place."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)

    def set_status(self, status: str, waiting_for: str | None = None) -> None:
        """A change of status; both times move."""
        self.content.pop("waitingFor", None)
        self.content["status"] = status
        if waiting_for is not None:
            self.content["waitingFor"] = waiting_for
        self.content["updatedAt"] = self.content["statusUpdatedAt"] = milliseconds(self._clock())

    def change(self, **fields: Any) -> None:
        """Any other change: only `updatedAt` moves (seen after /clear)."""
        self.content |= fields
        self.content["updatedAt"] = milliseconds(self._clock())

    def remove(self) -> None:
        """As at a clean end."""
        for path in (self.path, self._key):
            if path:
                try:
                    os.unlink(path)
                except FileNotFoundError:
                    pass


class Rows:
    """The rows of one session's transcript, in the order asked for.

    Each method returns the rows that the client writes at that point and remembers what later rows refer to.
    """

    def __init__(self, plan: Plan, session_id: str, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._clock = clock
        self.session_id = session_id
        self._parent: str | None = None
        self._prompt_id = new_id()
        self._prompts = 0
        self._turns = 0
        self._messages = 0
        self._last_prompt = ""
        self._last_api_request: str | None = None
        self.tokens = 14_000

    @property
    def newer(self) -> bool:
        """Whether this is a version with `api-request` rows."""
        return self._plan.version != "2.1.285"

    def opening(self) -> list[JSON]:
        """Before the first turn of a process."""
        return self._modes()

    def typed(self, text: str) -> list[JSON]:
        """A prompt that a person typed."""
        self._prompts += 1
        self._last_prompt = text
        self._new_turn()
        row = self._row(
            {
                "promptId": self._prompt_id,
                "type": "user",
                "message": {"role": "user", "content": text},
                **self._stamp(),
                "permissionMode": self._plan.permission_mode,
                "origin": {"kind": "human"},
                "promptSource": "typed",
                "turnOrigin": "human",
                "turnPosition": self._position(),
            }
        )
        snapshot = {
            "type": "file-history-snapshot",
            "messageId": row["uuid"],
            "snapshot": {"messageId": row["uuid"], "trackedFileBackups": {}, "timestamp": row["timestamp"]},
            "isSnapshotUpdate": False,
        }
        return [snapshot, row]

    def enqueued(self, text: str) -> list[JSON]:
        """The client has it; nothing more is said."""
        return [self._queue("enqueue", content=text)]

    def dequeued(self) -> list[JSON]:
        """One item left the queue; which one is not said."""
        return [self._queue("dequeue")]

    def event_turn(self, texts: list[tuple[str, JSON]], sent_at: float) -> list[JSON]:
        """A turn of its own for events or peer messages (text, origin): the proof that the model was given them."""
        self._new_turn()
        rows = []
        for text, origin in texts:
            newer: JSON = {"queueSkipSlashCommands": True, "sentAtMs": milliseconds(sent_at)} if self.newer else {}
            rows.append(
                self._row(
                    {
                        "promptId": self._prompt_id,
                        "type": "user",
                        "message": {"role": "user", "content": as_shown(text, origin)},
                        "isMeta": True,
                        **self._stamp(),
                        "permissionMode": self._plan.permission_mode,
                        "origin": origin,
                        "promptSource": "system",
                        **newer,
                        "turnOrigin": "peer",
                        "turnPosition": self._position(),
                        "queueSkipAttachments": True,
                    }
                )
            )
        return rows

    def removed(self, text: str, command: str, delivery: str) -> list[JSON]:
        """It left the queue because the running turn takes it along."""
        newer = {"deliveryId": delivery} if self.newer else {}
        return [self._queue("remove", content=text, reason="absorbed_mid_turn", commandUuid=command, **newer)]

    def absorbed(self, text: str, origin: JSON, command: str, delivery: str) -> list[JSON]:
        """The other proof: given to the model with a tool result. There is no user row then."""
        newer = {"delivery_id": delivery} if self.newer else {}
        stamp = self._stamp()
        attachment = {
            "type": "queued_command",
            "prompt": text,
            "source_uuid": command,
            **newer,
            "commandMode": "prompt",
            "origin": origin,
            "timestamp": stamp["timestamp"],
            "isMeta": True,
        }
        sender = "from another session" if origin["kind"] == "peer" else f"from {origin.get('server')}"
        rendered = f"<system-reminder>\nA message arrived {sender} mid-turn:\n{text}\n</system-reminder>"
        return [
            self._row(
                {
                    "attachment": attachment,
                    "type": "attachment",
                    **stamp,
                    "rendered": [{"content": rendered}],
                    "renderedRole": "system",
                    "session_id": self.session_id,
                }
            )
        ]

    def api_request(self) -> list[JSON]:
        """The start of a main-thread request; only newer clients write it."""
        if not self.newer:
            return []
        self._last_api_request = new_id()
        control: JSON = {"type": "ephemeral", **({"ttl": "1h"} if self._plan.cache == "1h" else {})}
        return [
            {
                "type": "api-request",
                "sessionId": self.session_id,
                "id": self._last_api_request,
                "timestamp": iso(self._clock()),
                "version": self._plan.version,
                "querySource": "repl_main_thread",
                "params": {"model": MODEL, "max_tokens": 128000},
                "cacheControl": [{"path": ["system", 0], "value": control}],
            }
        ]

    def assistant(self, content: list[JSON], stop_reason: str, attribution: JSON | None = None) -> list[JSON]:
        """An answer, with its usage: 200 tokens written to the cache, the rest read from it."""
        self._messages += 1
        written, read = 200, self.tokens
        self.tokens += written
        hour = written if self._plan.cache == "1h" else 0
        message = {
            "id": f"msg_{self._messages:06d}_{secrets.token_hex(4)}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": content,
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": written,
                "cache_read_input_tokens": read,
                "output_tokens": 12,
                "service_tier": "standard",
                "cache_creation": {"ephemeral_1h_input_tokens": hour, "ephemeral_5m_input_tokens": written - hour},
            },
        }
        newer: JSON = {}
        if self.newer:
            reference = self._last_api_request
            newer = {"requestRef": reference, "requestedModel": MODEL, "promptCacheRequested": self._plan.cache}
        return [
            self._row(
                {
                    "message": message,
                    "apiBlockIndex": 0,
                    "requestId": f"req_{self._messages:06d}",
                    **newer,
                    **(attribution or {}),
                    "type": "assistant",
                    **self._stamp(),
                    "effort": "medium",
                    **({"madeBy": "model"} if self.newer else {}),
                    "session_id": self.session_id,
                }
            )
        ]

    def tool_result(self, tool_use_id: str, content: Any, *, is_error: bool = False) -> list[JSON]:
        """What a tool answered, as the model is given it."""
        result: JSON = {"tool_use_id": tool_use_id, "type": "tool_result", "content": content}
        if is_error:
            result["is_error"] = True
        return [
            self._row(
                {
                    "promptId": self._prompt_id,
                    "type": "user",
                    "message": {"role": "user", "content": [result]},
                    **self._stamp(),
                    "toolUseResult": content,
                    "sourceToolAssistantUUID": self._parent,
                    "session_id": self.session_id,
                }
            )
        ]

    def turn_end(self, took: float) -> list[JSON]:
        """The turn is over."""
        row = self._row(
            {
                "type": "system",
                "subtype": "turn_duration",
                "durationMs": int(took * 1000),
                "messageCount": self._messages,
                **self._stamp(),
                "isMeta": False,
            }
        )
        last = {"lastPrompt": self._last_prompt} if self._last_prompt else {}
        return [
            row,
            {"type": "last-prompt", **last, "leafUuid": row["uuid"], "sessionId": self.session_id},
            *self._modes(),
        ]

    def interrupted(self) -> list[JSON]:
        """Escape pressed by the operator: no origin, and yet the operator."""
        content = [{"type": "text", "text": "[Request interrupted by user]"}]
        return [self._row({"type": "user", "message": {"role": "user", "content": content}, **self._stamp()})]

    def _modes(self) -> list[JSON]:
        session = {"sessionId": self.session_id}
        return [
            {"type": "mode", "mode": "normal", **session},
            {"type": "permission-mode", "permissionMode": self._plan.permission_mode, **session},
            {"type": "atis-latch", "atis": "", **session},
        ]

    def _new_turn(self) -> None:
        self._turns += 1
        self._prompt_id = new_id()

    def _position(self) -> JSON:
        return {"promptIndex": self._prompts, "turnIndex": self._turns}

    def _stamp(self) -> JSON:
        return {"uuid": new_id(), "timestamp": iso(self._clock())}

    def _queue(self, operation: str, **fields: Any) -> JSON:
        head = {"type": "queue-operation", "operation": operation, "timestamp": iso(self._clock())}
        return {**head, "sessionId": self.session_id, **fields}

    def _row(self, fields: JSON) -> JSON:
        row = {
            "parentUuid": self._parent,
            "isSidechain": False,
            **fields,
            "userType": "external",
            "entrypoint": self._plan.entrypoint,
            "cwd": self._plan.project,
            "sessionId": self.session_id,
            "version": self._plan.version,
            "gitBranch": "HEAD",
        }
        self._parent = row["uuid"]
        return row


def as_shown(text: str, origin: JSON) -> str:
    """What the model is given: peer messages come in a frame of the client's words, channel events bare."""
    return f"{PEER_FIRST_LINE}\n{text}\n\n{PEER_PARAGRAPH}" if origin["kind"] == "peer" else text


def transcript_path(plan: Plan, session_id: str) -> str:
    """Where the client keeps a session's transcript."""
    return os.path.join(plan.config_dir, "projects", project_folder(plan.project), f"{session_id}.jsonl")


def history_row(plan: Plan, text: str, session_id: str, now: float) -> JSON:
    """The line of `history.jsonl` for something typed."""
    return {
        "display": text,
        "pastedContents": {},
        "timestamp": milliseconds(now),
        "project": plan.project,
        "sessionId": session_id,
    }


def _machine_id() -> str:
    try:
        with open("/etc/machine-id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "0" * 32


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return "pid:[0]"
