from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.base.config import Config
from agent_ways.base.errors import DamagedRecordError
from agent_ways.base.jsontext import dumps, loads
from agent_ways.claude.cache import FIVE_MINUTES, CacheEvidence
from agent_ways.keepalive.moves import observe
from agent_ways.keepalive.record import Record
from agent_ways.keepalive.shape import SCHEMA
from agent_ways.keepalive.situation import Conduits, Settings, settings
from agent_ways.keepalive.status import iso, status, status_now
from agent_ways.keepalive.statusline import segment, session_in
from tests.keepalive.values import ARMED, HOURS, MIN, NOON, SESSION, attempt, cache, observed, situation
from tests.support.transcripts import json_values

TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value has the shape of a schema, as far as SCHEMA goes."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return False
    if isinstance(value, dict):
        return list(value) == schema["required"] and all(fits(value[k], schema["properties"][k]) for k in value)
    return not isinstance(value, list) or all(fits(one, schema["items"]) for one in value)


def said(record: Record | None = None, how: Settings = ARMED, **found: Any) -> dict[str, Any]:
    seen = situation(**found)
    return status(seen, observed(seen, record, how), how)


@pytest.mark.demand("KA-2")
@pytest.mark.field_report(55)
def test_the_status_of_a_warm_session_names_the_next_act_and_when() -> None:
    found = said(cache=cache(10 * MIN))
    assert fits(found, SCHEMA)
    assert (found["armed"], found["window"]["open"], found["window"]["closes_in_s"]) == (True, True, 7.15 * 3600)
    assert (found["cache"]["tier"], found["cache"]["kept_s"], found["cache"]["age_s"]) == ("1h", 3600, 600)
    assert found["cache"]["expires_in_s"] == 3000
    assert (found["next"]["action"], found["next"]["then"], found["next"]["in_s"]) == ("wait", "ping", 35 * 60)
    assert found["conduit"]["name"] == "channel"
    assert (found["wrap"]["state"], found["quiet"], found["notes"]) == ("none", False, [])
    assert found["window"]["closes_at"] == iso(NOON - 51 * MIN + 8 * HOURS)
    assert loads(dumps(found)) == found


@pytest.mark.demand("KA-2", "KA-4", "KA-5")
@pytest.mark.field_report(55)
def test_pings_their_cost_and_the_last_read_back_are_said() -> None:
    last = attempt("ping", "proven", NOON - 50 * MIN, verdict="warm", read_tokens=49_000)
    before = Record(session=SESSION, operator_ms=NOON - 51 * MIN, operator_line=10)
    found = said(before.but(ping=last, tries=3, pings=3, tokens=16_000))
    assert found["pings"] == {
        "sent": 3,
        "proven": 3,
        "cost_tokens": 16_000,
        "spent": 0.3,
        "limit": 2.0,
        "left": 17,
        "last": f"proven by channel at {iso(NOON - 50 * MIN)}",
    }
    assert found["readback"] == {
        "verdict": "warm",
        "read_tokens": 49_000,
        "context_tokens": 50_000,
        "at": iso(NOON - 50 * MIN),
    }
    assert found["next"]["action"] == "ping"


@pytest.mark.demand("KA-6")
def test_a_wrapped_session_says_that_it_is_quiet_and_why() -> None:
    before = Record(session=SESSION, operator_ms=NOON - 51 * MIN, operator_line=10)
    found = said(before.but(wrap=attempt("wrap", "lost", reason="the process ended")))
    assert (found["wrap"]["state"], found["quiet"], found["next"]["rule"]) == ("lost", True, "wrapped")
    assert "until the operator types" in found["next"]["reason"]


@pytest.mark.demand("KA-5")
def test_on_the_five_minute_tier_the_status_says_that_there_is_normally_no_wrap() -> None:
    assert "no wrap" in said(cache=cache(MIN, tier=FIVE_MINUTES))["notes"][0]


@pytest.mark.demand("KA-2")
@pytest.mark.parametrize(
    "found",
    [
        {"operator_ms": None, "cache": CacheEvidence(reason="nothing"), "conduits": Conduits()},
        {"session": "", "excluded": "no ancestor has a record", "cache": CacheEvidence(reason="nothing")},
        {"operator_ms": NOON + 10**14, "cache": cache(last_request_ms=NOON + 10**14)},
        {"operator_ms": -(10**17), "cache": cache(last_request_ms=-(10**17))},
    ],
)
@pytest.mark.parametrize("window", [0, -1, 8 * HOURS, 10**15])
def test_what_is_not_known_is_null_and_never_left_out(found: dict[str, Any], window: int) -> None:
    assert fits(said(how=Settings(armed=True, window_ms=window), **found), SCHEMA)


@pytest.mark.demand("KA-2")
def test_the_status_of_now_judges_as_the_keeper_would_and_writes_nothing() -> None:
    class Parts:
        def __init__(self, saved: Record | DamagedRecordError | None) -> None:
            self.saved = saved

        def session(self) -> str:
            return SESSION

        def still_idle(self, session: str) -> bool:
            raise AssertionError(session)

        def look(self, record: Record | None) -> Any:
            assert record is None or record == self.saved
            return situation()

        def read(self, session: str) -> Record | None:
            assert session == SESSION
            if isinstance(self.saved, DamagedRecordError):
                raise self.saved
            return self.saved

        def change(self, session: str, change: Any) -> None:
            raise AssertionError(session, change)

    empty, saved = Parts(None), Parts(observe(Record(session=SESSION), situation(), ARMED))
    assert status_now(empty, empty, ARMED) == status_now(saved, saved, ARMED) == said()
    noted = status_now(empty, empty, ARMED, ("config: not TOML",))
    assert noted["notes"] == ["config: not TOML"]
    broken = Parts(DamagedRecordError("the file is damaged", "Move it aside."))
    found = status_now(broken, broken, ARMED)
    assert fits(found, SCHEMA)
    assert (found["next"]["rule"], "damaged" in found["next"]["reason"]) == ("state", True)


@pytest.mark.demand("KA-1")
def test_the_settings_are_the_configs_and_a_trial_runs_faster() -> None:
    plain = settings(Config())
    assert (plain.armed, plain.window_ms, plain.limit_hour, plain.limit_five) == (False, 8 * HOURS, 2_000, 1_250)
    fast = settings(Config(keepalive_armed=True, keepalive_window=60.0, keepalive_limit_hour=0.5), faster=600)
    assert (fast.armed, fast.window_ms, fast.limit_hour) == (True, 60_000, 500)
    assert (fast.hour_ms, fast.five_ms, fast.tick_ms) == (6_000, 500, 100)


def line(client: object, record: Record | None = None, unread: int = 0) -> str:
    return segment(client, record, unread, NOON, lambda ms: f"T+{(ms - NOON) // MIN}")


OPEN = Record(session=SESSION, operator_ms=NOON - HOURS, armed=True, window_ms=8 * HOURS)
WARM = {"prompt_cache": {"warm": True, "ttl": "1h", "expires_at": NOON / 1000 + 1800}}


@pytest.mark.demand("KA-2")
def test_the_status_line_says_cache_window_and_mail_in_one_short_line() -> None:
    assert line(WARM, OPEN, 2) == "cache warm until T+30 · keepalive 7 h · 2 unread"
    assert line({}, None) == ""
    assert line(WARM, OPEN.but(armed=False)) == "cache warm until T+30"
    assert line({"prompt_cache": {"warm": True, "expires_at": NOON / 1000 - 1}}) == "cache cold"
    assert line({"prompt_cache": {"warm": False}}) == "cache cold"
    assert line({}, OPEN.but(wrap=attempt("wrap", "proven"))) == "keepalive: wrapped"
    assert line({}, OPEN.but(stopped="cold")) == "keepalive: stopped, cache was cold"
    assert line({}, OPEN.but(operator_ms=NOON - 9 * HOURS)) == "keepalive: window closed"
    assert line({}, OPEN.but(operator_ms=None)) == "keepalive armed"
    assert line({}, OPEN.but(window_ms=HOURS + 1)) == "keepalive 1 min"


@pytest.mark.demand("KA-2")
@given(json_values, st.integers(-5, 5))
def test_whatever_the_client_writes_the_status_line_is_one_line(client: object, unread: int) -> None:
    for given_in in (client, {"prompt_cache": client}, {"prompt_cache": {"expires_at": client, "warm": client}}):
        found = line(given_in, OPEN, unread)
        assert "\n" not in found
        assert len(found) < 80
    assert isinstance(session_in({"session_id": client}), str)
    assert session_in({"session_id": SESSION}) == SESSION
