"""Aliases: names for a part that a session plays, `@release-captain`, which outlive any one session (ATT-2).

Owns one record per alias: who holds it. At most one session does; it keeps it over restarts. Must not know signals:
mail for an alias that no live session holds waits in the alias's own tray.
"""

from __future__ import annotations

from agent_ways.attend import addresses, disk, instances, layout
from agent_ways.base.errors import DamagedRecordError, NewerRecordError, RefusedError, StateError, UsageError
from agent_ways.base.records import read_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_ways.attend.bus import Bus
    from agent_ways.attend.instances import Instance


def holders(bus: Bus) -> dict[str, str | None]:
    """Every alias that was ever held, and its holder's key; None where it was let go, or its record is damaged."""
    found: dict[str, str | None] = {}
    for entry in disk.names(layout.aliases(bus.root)):
        name, dot, end = entry.partition(".json")
        if dot and not end and not entry.startswith("."):
            try:
                found[name] = _holder(bus, name)
            except StateError:
                found[name] = None  # its mail is kept until somebody can tell
    return found


def held_by(bus: Bus, key: str) -> list[str]:
    """The aliases of one instance."""
    return [name for name, holder in holders(bus).items() if holder == key]


def take(bus: Bus, instance: Instance, text: str) -> str | None:
    """Let `instance` hold the alias; answers the key of who held it before, None where nobody did.

    Raises `UsageError` for a name that can not be one, `RefusedError` where a session that lives, or may live on
    another machine, holds it.
    """
    name = addresses.alias_name(text)
    with bus.lock(instances.LOCK):
        before = _holder(bus, name)
        if before == instance.key:
            return None
        other = _instance(bus, before)
        if other is not None and instances.liveness(bus, other) != addresses.DEAD:
            raise RefusedError(
                f"@{name} is held by {other.name} ({other.session})",
                f"It can let go with: attend alias --drop {name}",
            )
        if other is None and any(one.name.lower() == name for one in instances.read_all(bus)):
            raise UsageError(f"{name} is a session's own name", "Choose an alias that says what the session does.")
        disk.put_record(layout.alias(bus.root, name), {"v": layout.FORMAT, "alias": name, "key": instance.key})
    return before


def drop(bus: Bus, instance: Instance, text: str) -> bool:
    """Let go of an alias; False where `instance` did not hold it. The alias stays known, and keeps mail."""
    name = addresses.alias_name(text)
    with bus.lock(instances.LOCK):
        if _holder(bus, name) != instance.key:
            return False
        disk.put_record(layout.alias(bus.root, name), {"v": layout.FORMAT, "alias": name, "key": None})
    return True


def _holder(bus: Bus, name: str) -> str | None:
    try:
        record = read_record(layout.alias(bus.root, name), layout.FORMAT)
    except (DamagedRecordError, NewerRecordError):
        return None
    key = record.get("key") if record else None
    return key if isinstance(key, str) else None


def _instance(bus: Bus, key: str | None) -> Instance | None:
    try:
        return instances.read(bus, key) if key else None
    except StateError:
        return None
