from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ways.attend import delivery
from agent_ways.attend.delivery import ANNOUNCED, ARRIVED, PUSHED, QUEUED, SEEN, Claim, Look
from agent_ways.base.process import Owner

CLIENT = Owner(host="north", boot="b", namespace="n", pid=100, start="1")
EVENTS = sorted({rule.event for rule in delivery.TABLE})


def claim(state: str = PUSHED, conduit: str = delivery.CHANNEL, tries: int = 1, stalls: int = 0) -> Claim:
    return Claim(
        state=state, conduit=conduit, at=0, since=0.0, client=CLIENT, by=1, sessions=("s",), tries=tries, stalls=stalls
    )


@pytest.mark.demand("CON-1")
@given(events=st.lists(st.sampled_from([*EVENTS, "something else"])))
def test_no_signal_is_seen_without_a_proof_and_seen_is_final(events: list[str]) -> None:
    state, proven = QUEUED, False
    for event in events:
        before = state
        action, state = delivery.step(state, event)
        proven = proven or event in (delivery.PROVEN, delivery.READ)
        assert state in delivery.STATES
        assert state != SEEN or proven
        assert before != SEEN or state == SEEN
        assert (state == SEEN and before != SEEN) <= (action == delivery.MARK)


@pytest.mark.demand("CON-1")
@given(event=st.sampled_from(EVENTS))
def test_nothing_is_shown_without_a_claim_first(event: str) -> None:
    action, state = delivery.step(QUEUED, event)
    assert (state == PUSHED) == (action == delivery.CLAIM)
    assert state in (QUEUED, PUSHED, SEEN)


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize("state", [PUSHED, ARRIVED, ANNOUNCED])
def test_what_is_claimed_is_not_shown_by_another_conduit(state: str) -> None:
    assert delivery.step(state, delivery.OTHER) == (delivery.SHOW_NOTHING, state)
    assert delivery.step(state, delivery.TAKEN) == (delivery.NOTHING, state)


def test_the_table_has_one_row_for_a_state_and_an_event() -> None:
    assert len({(rule.state, rule.event) for rule in delivery.TABLE}) == len(delivery.TABLE)


@pytest.mark.demand("CON-1")
@pytest.mark.parametrize(
    ("given_claim", "look", "event"),
    [
        (claim(), Look(now=1), ""),
        (claim(), Look(now=1, enqueued=True), delivery.ENQUEUED),
        (claim(), Look(now=1, enqueued=True, whole=True), delivery.PROVEN),
        (claim(), Look(now=1, whole=True, alive=False), delivery.PROVEN),
        (claim(), Look(now=1, named=True), delivery.NAMED),
        (claim(), Look(now=1, alive=False), delivery.GONE),
        (claim(ARRIVED), Look(now=1, alive=False), delivery.GONE),
        (claim(), Look(now=9, alive=None), ""),
        (claim(), Look(now=4.9), ""),
        (claim(), Look(now=5), delivery.SILENT),
        (claim(tries=2), Look(now=5), delivery.SILENT_AGAIN),
        (claim(conduit=delivery.DRAIN), Look(now=5), delivery.UNPRINTED),
        (claim(conduit=delivery.LOOP, tries=2), Look(now=5), delivery.UNPRINTED_AGAIN),
        (claim(), Look(now=5, readable=False), delivery.UNREADABLE),
        (claim(ARRIVED), Look(now=60), ""),
        (claim(ARRIVED), Look(now=60, idle_for=4), ""),
        (claim(ARRIVED), Look(now=60, idle_for=5), delivery.STUCK),
        (claim(ARRIVED, stalls=1), Look(now=60, idle_for=5), delivery.STUCK_AGAIN),
        (claim(ANNOUNCED), Look(now=1, named=True, alive=False), ""),
        (claim(ANNOUNCED), Look(now=1, read=True), delivery.READ),
        (claim(ANNOUNCED), Look(now=99, idle_for=99), ""),
    ],
)
def test_what_a_look_amounts_to(given_claim: Claim, look: Look, event: str) -> None:
    assert delivery.judge(given_claim, look) == event


looks = st.builds(
    Look,
    now=st.floats(0, 100),
    alive=st.sampled_from([True, False, None]),
    readable=st.booleans(),
    enqueued=st.booleans(),
    whole=st.booleans(),
    named=st.booleans(),
    read=st.booleans(),
    idle_for=st.none() | st.floats(0, 100),
)
claims = st.builds(
    claim,
    st.sampled_from([PUSHED, ARRIVED, ANNOUNCED]),
    st.sampled_from([delivery.CHANNEL, delivery.SOCKET, delivery.LOOP, delivery.DRAIN]),
    st.integers(0, 3),
    st.integers(0, 3),
)


@given(one=claims, look=looks)
def test_every_look_amounts_to_an_event_that_the_table_has(one: Claim, look: Look) -> None:
    event = delivery.judge(one, look)
    assert event == "" or (one.state, event) in {(rule.state, rule.event) for rule in delivery.TABLE}
    if look.whole or look.read:
        assert delivery.step(one.state, event)[1] == SEEN


def test_the_drawing_has_every_row() -> None:
    drawn = delivery.drawn()
    assert drawn.count("\n") == len(delivery.TABLE) + 3
    for rule in delivery.TABLE:
        assert f"| {rule.state} | {rule.event} |" in drawn
