"""A release server on loopback: the list of releases and their files, and everything that can go wrong with one."""

from __future__ import annotations

import email.utils
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from agent_ways.ways.update.names import parse_version

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class Answer:
    """What one path answers. `length` is what is claimed where it differs, negative for nothing claimed."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    hold: threading.Event | None = None
    """Waited for after the headers and half of the body."""


class ReleaseServer:
    """Serves what is published; `special` answers stand before it. `asked` lists the paths, in order."""

    def __init__(self) -> None:
        self.releases: dict[str, dict[str, bytes]] = {}
        self.more: list[Any] = []
        """Entries of the list besides those published."""
        self.special: dict[str, Answer] = {}
        self.asked: list[str] = []
        self.clock = 0.0
        """Seconds that the server's clock is ahead."""
        self.sizes: dict[str, int] = {}
        """Sizes that the list claims, where they differ."""
        self.links: dict[str, str] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self) -> None:
                server.asked.append(self.path)
                server._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def publish(self, version: str, assets: Mapping[str, bytes]) -> None:
        assert parse_version(version)
        self.releases[version] = dict(assets)

    def path(self, version: str, name: str) -> str:
        return f"/files/{version}/{name}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for answer in self.special.values():
            if answer.hold:
                answer.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _listed(self) -> bytes:
        entries = [
            {
                "tag_name": f"ways-mcp-v{version}",
                "draft": False,
                "prerelease": False,
                "assets": [
                    {
                        "name": name,
                        "size": self.sizes.get(name, len(data)),
                        "state": "uploaded",
                        "browser_download_url": self.links.get(name, self.path(version, name)),
                    }
                    for name, data in assets.items()
                ],
            }
            for version, assets in self.releases.items()
        ]
        return json.dumps(entries + self.more).encode()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        answer = self.special.get(path)
        if answer is None and path == "/releases":
            answer = Answer(self._listed())
        if answer is None:
            _, _, version, name = [*path.split("/"), "", "", "", ""][:4]
            data = self.releases.get(version, {}).get(name)
            answer = Answer(b"no such file", 404) if data is None else Answer(data)
        request.send_response_only(answer.status)
        stamp = time.time() + self.clock
        request.send_header("Date", email.utils.formatdate(stamp, usegmt=True))
        length = len(answer.body) if answer.length is None else answer.length
        if length >= 0:
            request.send_header("Content-Length", str(length))
        for key, value in answer.headers.items():
            request.send_header(key, value)
        request.end_headers()
        half = len(answer.body) // 2 if answer.hold else len(answer.body)
        try:
            request.wfile.write(answer.body[:half])
            if answer.hold:
                request.wfile.flush()
                answer.hold.wait(30)
                request.wfile.write(answer.body[half:])
        except OSError:
            pass  # the reader had enough
