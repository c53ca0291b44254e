"""The rows of a session's transcript, as 2.1.332 and 2.1.285 write them.

Owns their shapes and what each refers to. Must not know when they are written, nor where. Where a field's content
is the vendor's prose, ours stands in its place; the first line of a peer message is the client's own.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from tests.support.session_files import JSON, iso, milliseconds, new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.hooks import HookOutput
    from tests.support.plan import Plan

MODEL = "claude-opus-5-5"
CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"
PEER_FIRST_LINE = "Another Claude session sent a message:"
PEER_PARAGRAPH = "(Here stands the client's fixed paragraph: from another session, not typed by the person.)"


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
    def prompt_id(self) -> str:
        """The id of the prompt that began this turn, as hooks are told it."""
        return self._prompt_id

    @property
    def newer(self) -> bool:
        """Whether this is a version with `api-request` rows."""
        return self._plan.version != "2.1.285"

    def opening(self) -> list[JSON]:
        """Before the first turn of a process."""
        return self._modes()

    def cleared(self) -> list[JSON]:
        """What `/clear` writes into the new session's transcript, at once: user rows of no origin."""
        texts = ("<local-command-caveat>(Not sent to the model as a request.)</local-command-caveat>", CLEAR)
        sources = ("harness", "local") if self.newer else ("", "")
        rows: list[JSON] = [{"type": "mode", "mode": "normal", "sessionId": self.session_id}]
        for text, source in zip(texts, sources, strict=True):
            meta = {"isMeta": True} if text != CLEAR else {}
            newer = {"rowSource": source} if source else {}
            message = {"role": "user", "content": text}
            rows.append(self._row({"type": "user", "message": message, **meta, **newer, **self._stamp()}))
        command = {
            "type": "system",
            "subtype": "local_command",
            "content": "<local-command-stdout></local-command-stdout>",
            "level": "info",
            **self._stamp(),
            "isMeta": False,
        }
        return [*rows, self._row(command)]

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
        return [self._attachment(attachment, f"A message arrived {sender} mid-turn:\n{text}", stamp)]

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

    def stop_hook(self, output: HookOutput, command: str, took: float) -> list[JSON]:
        """What a Stop hook said: where it blocked, the text stands in two rows, and both go to the model."""
        use = {"toolUseID": new_id()}
        about = {"hookName": "Stop", **use, "hookEvent": "Stop"}
        rows = []
        if output.blocks:
            newer: JSON = {"rowSource": "hook", "hookText": True} if self.newer else {}
            content = f"Stop hook feedback:\n{output.reason}"
            message = {"role": "user", "content": content}
            rows.append(
                self._row(
                    {
                        "promptId": self._prompt_id,
                        "type": "user",
                        "message": message,
                        "isMeta": True,
                        **newer,
                        **self._stamp(),
                        "session_id": self.session_id,
                    }
                )
            )
            error = {"blockingError": output.reason, "command": command}
            rendered = f'Stop hook blocking error from command: "{command}": {output.reason}'
            rows.append(self._attachment({"type": "hook_blocking_error", **about, "blockingError": error}, rendered))
        elif output.context:
            success = {
                "type": "hook_success",
                **about,
                "content": "",
                "stdout": output.stdout,
                "stderr": "",
                "exitCode": 0,
                "command": command,
                "durationMs": int(took * 1000),
            }
            rows.append(self._attachment(success))
            context = {"type": "hook_additional_context", "content": [output.context], **about}
            rows.append(self._attachment(context, f"Stop hook additional context: {output.context}"))
        summary = {
            "type": "system",
            "subtype": "stop_hook_summary",
            "hookCount": 1,
            "hookInfos": [{"command": command}],
            "hookErrors": [output.reason] if output.blocks else [],
            "hookAdditionalContext": [output.context] if output.context and not output.blocks else [],
            "preventedContinuation": False,
            "stopReason": "",
            "hasOutput": bool(output.stdout),
            "level": "suggestion",
        }
        rows.append(self._row({**summary, **self._stamp(), **use, "session_id": self.session_id}))
        return rows

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

    def _attachment(self, attachment: JSON, rendered: str = "", stamp: JSON | None = None) -> JSON:
        shown: JSON = {}
        if rendered:
            text = f"<system-reminder>\n{rendered}\n</system-reminder>"
            shown = {"rendered": [{"content": text}], "renderedRole": "system"}
        fields = {"attachment": attachment, "type": "attachment", **(stamp or self._stamp())}
        return self._row({**fields, **shown, "session_id": self.session_id})

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
