from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_ways.claude import records
from agent_ways.claude.records import SessionRecord, parse, read, read_all
from tests.support.fake_proc import FakeTable

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION = "813016ca-1f0b-4c5e-9a53-8a7f1c1d2e3f"
RAW: dict[str, Any] = {
    "pid": 8904,
    "sessionId": SESSION,
    "cwd": "/tmp/x/proj",
    "startedAt": 1796066516695,
    "procStart": "62833",
    "version": "2.1.332",
    "peerProtocol": 1,
    "peerFeatures": ["notify_idle"],
    "kind": "interactive",
    "entrypoint": "cli",
    "asksForConvertedSkills": None,
    "messagingSocketPath": "/tmp/cc-socks/8904.sock",
    "name": "proj-7b",
    "status": "waiting",
    "waitingFor": "permission prompt",
    "updatedAt": 1796066516375,
    "statusUpdatedAt": 1796066516376,
}
WHOLE = SessionRecord(
    pid=8904,
    session=SESSION,
    config_dir="/c",
    cwd="/tmp/x/proj",
    start="62833",
    started_at=1796066516695,
    version="2.1.332",
    kind="interactive",
    entrypoint="cli",
    status="waiting",
    waiting_for="permission prompt",
    socket="/tmp/cc-socks/8904.sock",
    name="proj-7b",
    updated_at=1796066516375,
    status_updated_at=1796066516376,
)
KEYS = sorted(RAW)
VALUE: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def encoded(raw: Any, **options: Any) -> bytes:
    return json.dumps(raw, **options).encode()


@pytest.mark.demand("ID-1")
def test_a_record_as_the_client_writes_it_is_read_whole() -> None:
    assert parse(encoded(RAW), "/c") == WHOLE


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(44)
@given(
    order=st.permutations(KEYS),
    indent=st.sampled_from([None, 0, 4, "\t"]),
    space=st.text(" \t\r\n", max_size=3),
    bom=st.booleans(),
    extra=st.dictionaries(st.text().filter(lambda key: key not in RAW), VALUE, max_size=3),
)
def test_layout_order_bom_and_extra_keys_change_nothing(
    order: list[str], indent: int | str | None, space: str, bom: bool, extra: dict[str, Any]
) -> None:
    text = json.dumps({**extra, **{key: RAW[key] for key in order}}, indent=indent)
    assert parse(b"\xef\xbb\xbf" * bom + f"{space}{text}{space}".encode(), "/c") == WHOLE


@pytest.mark.field_report(44)
@given(st.sets(st.sampled_from(KEYS)))
def test_what_the_record_does_not_say_is_none_and_without_pid_or_session_there_is_no_record(missing: set[str]) -> None:
    found = parse(encoded({key: value for key, value in RAW.items() if key not in missing}), "/c")
    assert (found is None) == bool(missing & {"pid", "sessionId"})
    if found is not None:
        slots = {
            "cwd": "cwd",
            "procStart": "start",
            "messagingSocketPath": "socket",
            "statusUpdatedAt": "status_updated_at",
        }
        for key, slot in slots.items():
            assert getattr(found, slot) == (None if key in missing else getattr(WHOLE, slot))


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUE)))
@example({"pid": True, "sessionId": SESSION})
@example({"pid": 1e300, "sessionId": SESSION, "updatedAt": 1e300})
def test_a_value_of_an_unexpected_type_counts_as_missing(changes: dict[str, Any]) -> None:
    found = parse(encoded({**RAW, **changes}), "/c")
    if found is None:
        assert {"pid", "sessionId"} & set(changes)
        return
    for name in SessionRecord.__slots__:
        value = getattr(found, name)
        if name in ("pid", "updated_at", "status_updated_at", "started_at"):
            assert value is None or (type(value) is int and value >= 0)
        elif value is not None:
            assert value
            assert value.encode("utf-8")


@given(st.binary(max_size=80) | st.integers(0, 400).map(lambda end: encoded(RAW)[:end]))
def test_any_bytes_are_a_record_or_none(data: bytes) -> None:
    found = parse(data, "/c")
    assert found is None or found.session


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b'"x"', b"{", b"[" * 100_000, b"\0" * 700, encoded([RAW])])
def test_what_is_no_record_is_none(data: bytes) -> None:
    assert parse(data, "/c") is None


@pytest.mark.field_report(44)
@pytest.mark.parametrize(
    ("pid", "expected"),
    [("8904", 8904), (8904.0, 8904), ("08904", 8904), (0, None), (-1, None), ("", None), ("x", None), ("٣", None)],
)
def test_a_pid_may_be_a_number_as_text(pid: object, expected: int | None) -> None:
    found = parse(encoded({**RAW, "pid": pid}), "/c")
    assert (found.pid if found else None) == expected


@pytest.mark.demand("ID-2")
@pytest.mark.parametrize("session", ["", ".", "..", ".hidden", "a/b", "../x", "a\0b", "a b", "é", "x" * 129, None, 7])
def test_a_session_id_that_is_no_safe_file_name_is_none(session: object) -> None:
    assert parse(encoded({**RAW, "sessionId": session}), "/c") is None


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (62833, "62833"),
        (" 62833\n", "62833"),
        ("Mon Nov  3 21:21:06 2026", "Mon Nov 3 21:21:06 2026"),
        ("", None),
        (" ", None),
        (None, None),
        (True, None),
        ([], None),
    ],
)
def test_a_start_is_text_with_its_white_space_collapsed(start: object, expected: str | None) -> None:
    found = parse(encoded({**RAW, "procStart": start}), "/c")
    assert found is not None
    assert found.start == expected


def test_a_lone_surrogate_never_reaches_a_writer_and_a_pair_is_one_character() -> None:
    data = b'{"pid":1,"sessionId":"a","cwd":"/x\\ud800/y","name":"\\ud83d\\ude00","status":"\\udc00"}'
    found = parse(data, "/c")
    assert found is not None
    assert (found.cwd, found.name, found.status) == ("/x\ufffd/y", "\U0001f600", "\ufffd")


@pytest.mark.demand("ID-5")
@pytest.mark.parametrize(
    ("entrypoint", "sdk"),
    [("cli", False), ("sdk-cli", True), ("sdk-py", True), ("sdk", False), ("mysdk-x", False), (None, False)],
)
def test_an_sdk_session_is_told_by_its_entrypoint_and_not_by_its_kind(entrypoint: str | None, sdk: bool) -> None:
    found = parse(encoded({**RAW, "entrypoint": entrypoint}), "/c")
    assert found is not None
    assert found.kind == "interactive"
    assert found.is_sdk == sdk


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def table() -> FakeTable:
    found = FakeTable()
    found.add(8904, start="62833")
    return found


def put(config: Path, name: str = "8904.json", **changes: Any) -> Path:
    path = config / "sessions" / name
    path.write_bytes(encoded({**RAW, **changes}))
    return path


def never(_seconds: float) -> None:
    pytest.fail("waited")


@pytest.mark.demand("ID-1")
def test_the_record_of_a_live_process_is_read_at_once(config: Path, table: FakeTable) -> None:
    put(config)
    found = read(str(config), 8904, table, never)
    assert found is not None
    assert (found.session, found.config_dir) == (SESSION, str(config))


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(42)
def test_a_stale_record_with_a_reused_pid_never_resolves(config: Path, table: FakeTable) -> None:
    put(config)
    table.end(8904)
    assert read(str(config), 8904, table, never) is None
    table.add(8904, start="99999")
    assert read(str(config), 8904, table, never) is None


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize("changes", [{"procStart": None}, {"procStart": ""}, {"pid": 8905}, {"procStart": "6283"}])
def test_a_record_without_a_start_or_with_anothers_pid_never_resolves(
    config: Path, table: FakeTable, changes: dict[str, Any]
) -> None:
    put(config, **changes)
    assert read(str(config), 8904, table, never) is None


@pytest.mark.demand("ID-1")
@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 10**6))
@example(5, 5, 9, 9)
def test_only_pid_and_start_together_resolve(
    tmp_path_factory: pytest.TempPathFactory, written: int, named: int, recorded: int, real: int
) -> None:
    config = tmp_path_factory.mktemp("config")
    (config / "sessions").mkdir()
    put(config, f"{named}.json", pid=written, procStart=str(recorded))
    table = FakeTable()
    table.add(named, start=str(real))
    found = read(str(config), named, table, never)
    assert (found is not None) == (written == named and recorded == real)


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(44)
@pytest.mark.parametrize("torn", [b"", encoded(RAW)[:100], encoded(RAW) + b'75}"'])
def test_a_torn_read_is_tried_again_until_the_client_has_written(config: Path, table: FakeTable, torn: bytes) -> None:
    path = put(config)
    path.write_bytes(torn)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            put(config)

    found = read(str(config), 8904, table, pause)
    assert found is not None
    assert len(pauses) == 2


@pytest.mark.demand("ID-1")
def test_a_record_that_stays_torn_is_none_within_20_ms(config: Path, table: FakeTable) -> None:
    put(config).write_bytes(b'{"pid":8904')
    pauses: list[float] = []
    assert read(str(config), 8904, table, pauses.append) is None
    assert pauses
    assert sum(pauses) <= 0.02


def test_a_record_that_goes_while_it_is_retried_is_none(config: Path, table: FakeTable) -> None:
    path = put(config)
    path.write_bytes(b"{")
    assert read(str(config), 8904, table, lambda _seconds: path.unlink()) is None


def make_dangling(path: Path) -> None:
    path.symlink_to(path.parent / "missing")


def make_loop(path: Path) -> None:
    path.symlink_to(path)


def make_long(path: Path) -> None:
    path.write_bytes(encoded(RAW) + b" " * records.LONGEST)


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, make_dangling, make_loop, make_long])
def test_something_else_with_a_records_name_is_none_and_never_waits(
    config: Path, table: FakeTable, make: Callable[[Path], None]
) -> None:
    make(config / "sessions" / "8904.json")
    assert read(str(config), 8904, table, never) is None
    assert read_all(str(config), table) == []


@pytest.mark.parametrize("place", ["", "none", "file", "a\0b"])
def test_a_config_dir_without_sessions_has_none(tmp_path: Path, table: FakeTable, place: str) -> None:
    (tmp_path / "file").touch()
    config = os.path.join(str(tmp_path), place)
    assert read(config, 8904, table, never) is None
    assert read_all(config, table) == []


@pytest.mark.demand("ID-1")
@pytest.mark.field_report(92)
def test_all_live_sessions_are_listed_and_only_those(config: Path, table: FakeTable) -> None:
    put(config)
    table.add(20, start="200")
    put(config, "20.json", pid=20, procStart="200", sessionId="twenty")
    put(config, "30.json", pid=30, procStart="300")  # its client was killed
    table.add(40, start="999")
    put(config, "40.json", pid=40, procStart="400")  # its pid is another process's now
    put(config, "20.abc.json", pid=20, procStart="200")
    put(config, "020.json", pid=20, procStart="200")
    put(config, "x.json")
    put(config, "²0.json", pid=20, procStart="200")
    put(config, ".json")
    (config / "sessions" / "8904.0f.key").write_text("not ours to read")
    assert [found.session for found in read_all(str(config), table)] == ["twenty", SESSION]


FIXTURES = Path(__file__).parent / "fixtures"


def real_records() -> list[Path]:
    return sorted(path for path in FIXTURES.rglob("*record*.json") if b"sessionId" in path.read_bytes())


def test_there_are_records_of_both_tracked_clients() -> None:
    assert {path.relative_to(FIXTURES).parts[0] for path in real_records()} == {"2.1.285", "2.1.332"}


@pytest.mark.demand("ID-1")
@pytest.mark.parametrize("path", real_records(), ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_records_that_the_real_client_wrote_are_read(path: Path) -> None:
    found = parse(path.read_bytes(), "/c")
    assert found is not None
    assert found.start
    assert found.start.isdecimal()
    assert found.version
    assert found.entrypoint in ("cli", "sdk-cli")
    assert found.status in ("idle", "busy", "shell", "waiting", None)
    assert found.updated_at
    assert found.updated_at > 1_700_000_000_000
