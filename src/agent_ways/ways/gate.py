"""Why the channel of a live session would load or not, asked in the client's own order (facts seen on both versions).

Owns the reasons and their repairs; a function over what was seen. It says `would`: whether events arrive is proven by a
transcript alone. Must not read anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_ways.claude.launch import ChannelIntent

FEATURE = "tengu_harbor"
"""The client's feature flag for channels, in its cache of flags."""
SWITCHES = ("DISABLE_TELEMETRY", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
"""With one of these set the client takes the feature for off, whatever its cache says."""
PROVIDERS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY")
FLAG = "claude --dangerously-load-development-channels server:agent-ways"
_OFF = ("", "0", "false", "no", "off")


@dataclass(frozen=True)
class Seen:
    """What bears on one session's channel.

    `environment` is that of its process, None where it can not be read; `settings` the `env` of the settings files that
    it reads; `features` the client's cached feature flags; `policies` the managed settings there are, by their path.
    """

    intent: ChannelIntent
    environment: Mapping[str, str] | None
    settings: Mapping[str, str]
    features: Mapping[str, Any]
    policies: Mapping[str, Mapping[str, Any]]
    served: bool


@dataclass(frozen=True)
class Reason:
    """Why it would not load, or can not be told, and what to do."""

    text: str
    repair: str = ""


def reasons(seen: Seen) -> tuple[Reason, ...]:
    """Everything that is in the way; nothing where it would load."""
    environment = {**seen.settings, **(seen.environment or {})}
    found = [
        Reason(f"{name} is set: the client loads channels with its own provider alone")
        for name in PROVIDERS
        if _is_on(environment.get(name))
    ]
    found += [
        Reason(f"{name} is set, which turns the client's channels off", f"unset {name}, then restart it")
        for name in SWITCHES
        if _is_on(environment.get(name))
    ]
    if seen.features.get(FEATURE) is not True:
        text = (
            f"the client's feature flag {FEATURE} is off: with it the launch flag does nothing, and no dialog is shown"
        )
        found.append(Reason(text, "the flag is the vendor's; the inbox socket and the loop work without it"))
    for path, policy in seen.policies.items():
        if policy.get("channelsEnabled") is not True:
            found.append(Reason(f"the policy in {path} does not allow channels", 'it needs "channelsEnabled": true'))
    if seen.intent.state == "no":
        found.append(Reason(seen.intent.reason, f"restart it with: {FLAG}"))
    elif seen.intent.state == "unknown":
        found.append(Reason(seen.intent.reason))
    elif not found and not seen.served:
        text = "no server of ours runs in it: its dialog was answered with no, or the server ended"
        found.append(Reason(text, "restart it, and press Enter at the dialog about development channels"))
    if seen.environment is None and not found:
        found.append(Reason("its environment can not be read from here, so the client's switches are not known"))
    return tuple(found)


def _is_on(value: str | None) -> bool:
    return value is not None and value.strip().lower() not in _OFF
