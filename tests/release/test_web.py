"""Downloads, at the edge: proxies, retries, redirects that are fine, words for what the system says."""

from __future__ import annotations

import socket
import ssl
import threading
import urllib.error

import pytest

from agent_ways.ways.update.errors import (
    ClockError,
    CutShortError,
    RedirectedError,
    ReleaseError,
    ServerDownError,
    UnreachableError,
)
from agent_ways.ways.update.web import NotThereError, Web
from tests.release.server import Answer, ReleaseServer


def web(server: ReleaseServer, pauses: list[float] | None = None) -> Web:
    host = server.base.removeprefix("http://")
    return Web(frozenset({host}), sleep=(pauses if pauses is not None else []).append)


@pytest.mark.demand("LIFE-2")
def test_a_server_in_trouble_is_asked_again_after_longer_and_longer_pauses(server: ReleaseServer) -> None:
    pauses: list[float] = []
    server.special["/x"] = Answer(b"", 502)
    with pytest.raises(ServerDownError, match="502"):
        web(server, pauses).get(f"{server.base}/x", 10)
    assert pauses == [2.0, 4.0]
    assert server.asked == ["/x"] * 3


def test_what_is_not_there_is_asked_for_once(server: ReleaseServer) -> None:
    with pytest.raises(NotThereError):
        web(server).get(f"{server.base}/x", 10)
    assert server.asked == ["/x"]


def test_a_redirect_on_the_same_server_is_followed_and_a_circle_is_not(server: ReleaseServer) -> None:
    server.special |= {"/x": Answer(b"", 302, {"Location": "/y"}), "/y": Answer(b"here")}
    assert web(server).get(f"{server.base}/x", 10) == b"here"
    server.special["/y"] = Answer(b"", 302, {"Location": "/x"})
    with pytest.raises(RedirectedError, match="circles"):
        web(server).get(f"{server.base}/x", 10)


def test_what_is_no_http_is_named() -> None:
    with Babbler(b"SSH-2.0-OpenSSH_9.2\r\n") as port, pytest.raises(ServerDownError, match="does not speak HTTP"):
        Web(frozenset({f"127.0.0.1:{port}"})).get(f"http://127.0.0.1:{port}/x", 10)


def test_a_connection_that_breaks_is_a_download_cut_short() -> None:
    with Babbler(b"") as port, pytest.raises(ReleaseError) as seen:
        Web(frozenset({f"127.0.0.1:{port}"})).get(f"http://127.0.0.1:{port}/x", 10)
    assert type(seen.value) in (CutShortError, ServerDownError)


class Babbler:
    """Says one thing to whoever connects, and hears the first of what they say."""

    def __init__(self, says: bytes) -> None:
        self._says = says
        self.heard = b""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def _serve(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with connection:
            self.heard = connection.recv(65536)
            connection.sendall(self._says)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._thread.join(10)


@pytest.mark.demand("LIFE-2")
def test_the_environments_proxy_is_asked_and_named_when_it_refuses() -> None:
    proxy = Babbler(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    with proxy as port:
        through = Web(frozenset({"mirror.example"}), env={"https_proxy": f"http://127.0.0.1:{port}"})
        with pytest.raises(UnreachableError, match="407") as refused:
            through.get("https://mirror.example/releases", 10)
    assert proxy.heard.startswith(b"CONNECT mirror.example:443 ")
    assert "A proxy is set: https_proxy=127.0.0.1" in refused.value.hint


def test_this_machine_is_asked_without_a_proxy(server: ReleaseServer) -> None:
    server.special["/x"] = Answer(b"here")
    host = server.base.removeprefix("http://")
    direct = Web(frozenset({host}), env={"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"})
    assert direct.get(f"{server.base}/x", 10) == b"here"


def certificate(code: int, words: str) -> urllib.error.URLError:
    error = ssl.SSLCertVerificationError(1, words)
    error.verify_code, error.verify_message = code, words
    return urllib.error.URLError(error)


@pytest.mark.parametrize(
    ("met", "kind", "words"),
    [
        (certificate(10, "certificate has expired"), ClockError, "out of date, by this machine's clock"),
        (certificate(9, "certificate is not yet valid"), ClockError, "out of date, by this machine's clock"),
        (certificate(20, "unable to get local issuer"), UnreachableError, "is not trusted: unable to get local issuer"),
        (urllib.error.URLError(socket.gaierror(-2, "?")), UnreachableError, "its name is not known here"),
        (urllib.error.URLError(TimeoutError("timed out")), UnreachableError, "did not answer within 20 seconds"),
        (TimeoutError("timed out"), UnreachableError, "did not answer within 20 seconds"),
        (urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")), UnreachableError, "refused"),
        (ConnectionResetError(104, "Connection reset by peer"), CutShortError, "broke"),
        (ssl.SSLError(1, "bad record mac"), CutShortError, "broke"),
    ],
)
def test_what_the_system_says_is_worded(met: OSError, kind: type[ReleaseError], words: str) -> None:
    found = Web(frozenset({"github.com"}), env={})._worded(met, "github.com")
    assert type(found) is kind
    assert words in found.message
    assert found.hint
