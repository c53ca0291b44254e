"""What can go wrong between a release and an installed version, each with a code and an exit code of its own.

Owns the branch of the error tree for releases. Must not know who raises or prints them. Exit codes 10 to 19: a
release could not be had; 20 to 29: what came is not what was released; 30 to 39: it was not put in force.
"""

from __future__ import annotations

from agent_ways.base.errors import WaysError


class ReleaseError(WaysError):
    """Something about a release; the version in force was not changed."""

    code = "release"
    exit_code = 10


class NoPrebuiltError(ReleaseError):
    """There is no prebuilt to be had for this machine or checkout; building from source is the way."""

    code = "no-prebuilt"
    exit_code = 11


class NoOriginError(NoPrebuiltError):
    """It is not known where releases of this copy live."""

    code = "no-origin"
    exit_code = 12


class NoReleaseError(NoPrebuiltError):
    """There is no release yet, or not the one that was asked for."""

    code = "no-release"
    exit_code = 13


class UnreachableError(ReleaseError):
    """The release server could not be reached: offline, no such host, refused, no answer in time, a proxy."""

    code = "unreachable"
    exit_code = 14


class RateLimitedError(ReleaseError):
    """The release server answers no more questions from here for a while."""

    code = "rate-limited"
    exit_code = 15


class ServerDownError(ReleaseError):
    """The release server answers with an error of its own, or with what is no answer to the question."""

    code = "server-down"
    exit_code = 16


class RedirectedError(ReleaseError):
    """The release server sent us to a host or scheme where releases do not live."""

    code = "redirected"
    exit_code = 17


class ClockError(ReleaseError):
    """This machine's clock and the release server's are more than a day apart: nothing signed can be judged."""

    code = "clock"
    exit_code = 18


class CutShortError(ReleaseError):
    """A download ended before it was whole."""

    code = "cut-short"
    exit_code = 19


class DistrustError(ReleaseError):
    """What was downloaded is not what was released."""

    code = "distrusted"
    exit_code = 20


class TooBigError(DistrustError):
    """A download is bigger than its kind may be, or than the release says."""

    code = "too-big"
    exit_code = 21


class SumsMissingError(DistrustError):
    """The release has no checksum for this file, or no checksums at all."""

    code = "sums-missing"
    exit_code = 22


class SumsMalformedError(DistrustError):
    """A file of checksums is not written as one."""

    code = "sums-malformed"
    exit_code = 23


class SumsMismatchError(DistrustError):
    """A checksum does not match."""

    code = "sums-mismatch"
    exit_code = 24


class BundleMissingError(DistrustError):
    """The file has no signature bundle."""

    code = "bundle-missing"
    exit_code = 25


class BundleRefusedError(DistrustError):
    """The signature bundle does not prove this file: another file's, altered, or not under our trust root."""

    code = "bundle-refused"
    exit_code = 26


class IdentityError(DistrustError):
    """The signature is whole, but another workflow, repository or tag made it."""

    code = "identity"
    exit_code = 27


class NoVerifierError(DistrustError):
    """A signature has to be verified, and there is no program here that can."""

    code = "no-verifier"
    exit_code = 28


class PayloadError(DistrustError):
    """The archive does not hold what its name says: another version, another platform, an unsafe path."""

    code = "payload"
    exit_code = 29


class SmokeError(ReleaseError):
    """The new version does not run on this machine; it was not put in force."""

    code = "smoke"
    exit_code = 30


class ManagedError(ReleaseError):
    """Another program manages this installation, and updates it."""

    code = "managed"
    exit_code = 31


class NothingToRollBackError(ReleaseError):
    """No earlier version is there to go back to."""

    code = "nothing-to-roll-back"
    exit_code = 32


class SourceBuildError(ReleaseError):
    """The released sources could not be built on this machine."""

    code = "source-build"
    exit_code = 33
