"""Downloads within bounds: of size, of time, of hosts.

Owns every byte that comes from a release server, and the wording of all that can go wrong on the way. Proxies of the
environment are used. Must not know what is downloaded.
"""

from __future__ import annotations

import email.utils
import http.client
import os
import socket
import ssl
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from agent_ways import __version__
from agent_ways.ways.update.errors import (
    ClockError,
    CutShortError,
    RateLimitedError,
    RedirectedError,
    ReleaseError,
    ServerDownError,
    TooBigError,
    UnreachableError,
)
from agent_ways.ways.update.origin import RELEASES, host_of, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import IO

    from _typeshed import Incomplete as _UrlopenRet

SILENCE = 20.0
"""Seconds without a byte after which a server is given up."""
TRIES = 3
"""How often a question is asked that got an error of the server's own."""
CLOCK_SLACK = 24 * 3600.0
"""Seconds that two clocks may be apart."""
_CHUNK = 64 << 10
_OFFLINE = "Look at the network, then run it again."


class NotThereError(Exception):
    """The server says 404: what that means is the caller's to say."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5
    max_repeats = 2

    def __init__(self, hosts: frozenset[str], schemes: tuple[str, ...]) -> None:
        self._hosts, self._schemes = hosts, schemes

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage
    ) -> _UrlopenRet | None:
        # Judged before the standard library sees it, which would follow to ftp and word what it does not follow itself.
        target = urljoin(req.full_url, headers.get("Location", ""))
        if not allowed(target, self._hosts, self._schemes):
            fp.close()
            raise RedirectedError(
                f"{_host(req.full_url)} sent us to {_host(target)}, where no release lives",
                "Nothing was downloaded from there. A network that asks for a login does this: log in, run it again.",
            )
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def allowed(url: str, hosts: frozenset[str], schemes: tuple[str, ...] = ("https",)) -> bool:
    """Whether a release may come from `url`."""
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and not parts.username and host_of(parts.hostname or "", parts.port) in hosts
    except ValueError:
        return False


class Web:
    """Downloads from `hosts`, all of them together within `patience` seconds."""

    def __init__(
        self,
        hosts: frozenset[str],
        *,
        patience: float = 900.0,
        env: Mapping[str, str] | None = None,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        silence: float = SILENCE,
    ) -> None:
        self._hosts = hosts
        self._wall, self._monotonic, self._sleep = wall, monotonic, sleep
        self._silence = silence
        self._end = monotonic() + patience
        local = all(is_loopback(urlsplit(f"//{host}").hostname or "") for host in hosts)
        self._schemes = ("https", "http") if local else ("https",)
        self._proxies = {} if local else _proxies(os.environ if env is None else env)
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(self._proxies), _Redirects(hosts, self._schemes)
        )
        self._opener.addheaders = []

    def get(self, url: str, limit: int) -> bytes:
        """A small file, of at most `limit` bytes. Raises `NotThereError` where there is none."""
        parts: list[bytes] = []
        self._each(url, limit, None, parts.append)
        return b"".join(parts)

    def save(
        self, url: str, write: Callable[[bytes], object], size: int, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """A file of exactly `size` bytes, handed to `write` in parts."""
        done = 0

        def take(part: bytes) -> None:
            nonlocal done
            write(part)
            done += len(part)
            if progress:
                progress(done, size)

        self._each(url, size, size, take)

    def join(self, page: str, link: str) -> str:
        """The address that `link` on `page` means; raises `RedirectedError` where no release may come from it."""
        url = urljoin(page, link)
        if not allowed(url, self._hosts, self._schemes):
            raise RedirectedError(
                f"the list of releases names a file on {_host(url)}, where no release lives",
                f"Nothing was downloaded. For a mirror of your own, set {RELEASES} to it.",
            )
        return url

    def _each(self, url: str, limit: int, exactly: int | None, take: Callable[[bytes], object]) -> None:
        host = _host(url)
        try:
            with self._open(url) as answer:
                self._check_clock(answer, host)
                told = answer.headers.get("Content-Length", "")
                length = int(told) if told.isdecimal() else None
                if length is not None and length > limit:
                    raise _too_big(url, limit)
                done = 0
                while part := answer.read1(_CHUNK):
                    done += len(part)
                    if done > limit:
                        raise _too_big(url, limit)
                    if self._monotonic() > self._end:
                        raise UnreachableError(f"{host} is too slow: the time for all downloads is over", _OFFLINE)
                    take(part)
        except http.client.IncompleteRead:
            raise _cut(url) from None
        except http.client.HTTPException as error:
            raise ServerDownError(f"{host} does not speak HTTP: {type(error).__name__}", _OFFLINE) from None
        except OSError as error:
            raise self._worded(error, host) from None
        wanted = exactly if exactly is not None else length
        if wanted is not None and done < wanted:
            raise _cut(url)

    def _open(self, url: str) -> http.client.HTTPResponse:
        """The answer to a question; asked again, after a pause, where the server has trouble of its own."""
        headers = {
            "User-Agent": f"agent-ways/{__version__}",
            "Accept": "application/json, application/octet-stream;q=0.9, */*;q=0.1",
            "Accept-Encoding": "identity",
        }
        for attempt in range(1, TRIES + 1):
            try:
                answer: http.client.HTTPResponse = self._opener.open(
                    urllib.request.Request(url, headers=headers),  # noqa: S310 - its scheme and host were judged
                    timeout=self._silence,
                )
            except urllib.error.HTTPError as error:
                with error:
                    if error.code < 500 or attempt == TRIES or self._monotonic() > self._end:
                        raise self._refused(error, _host(url)) from None
                self._sleep(2.0**attempt)
            else:
                return answer
        raise AssertionError  # pragma: no cover - the last try returns or raises

    def _refused(self, error: urllib.error.HTTPError, host: str) -> Exception:
        if error.code in (404, 410):
            return NotThereError()
        if error.code == 407:
            return UnreachableError(f"the proxy on the way to {host} wants a login", self._proxy_hint())
        limited = (
            error.code == 429 or error.headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in error.headers
        )
        if limited and error.code in (403, 429):
            return RateLimitedError(f"{host} answers no more questions from here{self._until(error)}", _LATER)
        if 300 <= error.code < 400:
            return RedirectedError(f"{host} sends us round in circles", _OFFLINE)
        hint = f"Run it again later; for a mirror set {RELEASES}."
        return ServerDownError(f"{host} answers with an error of its own: {error.code} {error.reason}", hint)

    def _until(self, error: urllib.error.HTTPError) -> str:
        after, reset = error.headers.get("Retry-After", ""), error.headers.get("X-RateLimit-Reset", "")
        seconds = int(after) if after.isdecimal() else int(reset) - self._wall() if reset.isdecimal() else 0.0
        return f" for {max(1, round(seconds / 60))} minutes" if 0 < seconds < 86400 else ""

    def _worded(self, error: OSError, host: str) -> ReleaseError:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            if reason.verify_code in _EXPIRED:
                return ClockError(f"the certificate of {host} is out of date, by this machine's clock", _CLOCK)
            hint = "A proxy that opens TLS does this; SSL_CERT_FILE names the certificates to trust."
            return UnreachableError(f"the certificate of {host} is not trusted: {reason.verify_message}", hint)
        if isinstance(reason, ConnectionResetError | BrokenPipeError | ssl.SSLError):
            return CutShortError(f"the connection to {host} broke", "Run it again.")
        if isinstance(reason, TimeoutError):
            return UnreachableError(f"{host} did not answer within {self._silence:g} seconds", self._proxy_hint())
        if isinstance(reason, socket.gaierror):
            return UnreachableError(f"there is no way to {host}: its name is not known here", self._proxy_hint())
        words = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
        return UnreachableError(f"{host} can not be reached: {words}", self._proxy_hint())

    def _proxy_hint(self) -> str:
        if not self._proxies:
            return _OFFLINE
        named = ", ".join(f"{kind}_proxy={urlsplit(url).hostname}" for kind, url in sorted(self._proxies.items()))
        return f"{_OFFLINE} A proxy is set: {named}."

    def _check_clock(self, answer: http.client.HTTPResponse, host: str) -> None:
        try:
            theirs = email.utils.parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        apart = self._wall() - theirs
        if abs(apart) > CLOCK_SLACK:
            side = "ahead of" if apart > 0 else "behind"
            raise ClockError(f"this machine's clock is {abs(apart) / 86400:.0f} days {side} that of {host}", _CLOCK)


_LATER = f"Run it again then; for a mirror set {RELEASES}."
_CLOCK = "Nothing was installed. Set the clock (timedatectl, or the system's settings), then run it again."
_EXPIRED = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


def _proxies(env: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for kind in ("http", "https"):
        url = env.get(f"{kind}_proxy") or env.get(f"{kind.upper()}_PROXY") or ""
        if url:
            found[kind] = url
    return found


def _host(url: str) -> str:
    parts = urlsplit(url)
    return host_of(parts.hostname or "nowhere", parts.port)


def _too_big(url: str, limit: int) -> TooBigError:
    name = urlsplit(url).path.rpartition("/")[2]
    hint = "Nothing was installed. Tell the maintainers; this is not what a release looks like."
    return TooBigError(f"{name} is bigger than the {limit:,} bytes it may have", hint)


def _cut(url: str) -> CutShortError:
    name = urlsplit(url).path.rpartition("/")[2]
    return CutShortError(f"the download of {name} ended before it was whole", "Nothing was installed. Run it again.")
