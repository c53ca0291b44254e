"""Who must have signed a release, and what a signature bundle says of itself before a verifier looks at it.

Owns the identity that is pinned and the reading of a verifier's answer. Must not run anything.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_ways.ways.update.errors import BundleRefusedError, IdentityError

if TYPE_CHECKING:
    from agent_ways.base.errors import WaysError
    from agent_ways.ways.update.names import Version

LONGEST = 1 << 20
"""Bytes above which no file is a bundle."""
WORKFLOW = ".github/workflows/release.yml"
ISSUER = "https://token.actions.githubusercontent.com"

_HINT = "Nothing was installed. Do not use this release; tell the maintainers what you saw."
_MEDIA_TYPE = "application/vnd.dev.sigstore.bundle"


@dataclass(frozen=True)
class Identity:
    """The one signer that a release of `version` may have: the release workflow of `repository` at that tag.

    All of it is pinned: a repository alone would accept any workflow and any branch of it.
    """

    repository: str
    version: Version

    @property
    def ref(self) -> str:
        """The git ref that the workflow ran for."""
        return f"refs/tags/{self.version.tag}"

    @property
    def trigger(self) -> str:
        """The event that started the workflow."""
        return "push"

    @property
    def subject(self) -> str:
        """The name in the signing certificate."""
        return f"https://github.com/{self.repository}/{WORKFLOW}@{self.ref}"


def check_subject(data: bytes, digest: str, asset: str) -> None:
    """Raise `BundleRefusedError` where a bundle is none, or was made for another file than the one with `digest`.

    This proves nothing yet; it gives the plain cases their own words.
    """
    try:
        raw: Any = json.loads(data)
    except (ValueError, RecursionError):
        raise BundleRefusedError(f"the signature bundle of {asset} is no JSON", _HINT) from None
    media_type = raw.get("mediaType") if isinstance(raw, dict) else None
    if not isinstance(media_type, str) or not media_type.startswith(_MEDIA_TYPE):
        raise BundleRefusedError(f"the signature bundle of {asset} is no sigstore bundle", _HINT)
    signed = raw.get("messageSignature")
    told = signed.get("messageDigest") if isinstance(signed, dict) else None
    text = told.get("digest") if isinstance(told, dict) else None
    try:
        found = base64.b64decode(text, validate=True).hex() if isinstance(text, str) else ""
    except (binascii.Error, ValueError):
        found = ""
    if found != digest:
        raise BundleRefusedError(f"the signature bundle beside {asset} was made for another file", _HINT)


def refusal(asset: str, said: str, identity: Identity) -> WaysError:
    """The error for what a verifier said when it refused. Its words choose the class; refused it is in any case."""
    reason = _reason(said)
    lowered = reason.lower()
    if any(sign in lowered for sign in ("sans do not match", "certificate's", "none of the expected identities")):
        return IdentityError(
            f"{asset} is signed, but not by {identity.subject}: {reason}",
            "Nothing was installed. If the project moved: AGENT_WAYS_REPOSITORY=owner/name. Else tell the maintainers.",
        )
    return BundleRefusedError(f"the signature of {asset} does not verify: {reason}", _HINT)


def _reason(said: str) -> str:
    """The one sentence that matters in what a verifier said: without its log's columns and its advice on itself."""
    text = " ".join(said.split())
    found = re.match(r".*(?:ERROR|Error:|error:) (.*?)(?: \S+\.py:\d+)?(?: For detailed error.*)?$", text)
    return (found[1] if found else text)[-500:].strip() or "it gave no reason"
