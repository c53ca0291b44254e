"""A sigstore of our own for tests: certificate authority, certificate log and signature log, all offline.

    python private_sigstore.py init DIR
    python private_sigstore.py sign DIR REPOSITORY IDENTITY REF FILE...     writes FILE.sigstore.json

Run by the interpreter of an environment that has `cryptography` (any that has `sigstore`). What it makes is of the
public service's own form: a leaf certificate with the extensions of a GitHub workflow and an embedded certificate
timestamp, a `hashedrekord` entry with its promise, an inclusion proof in a log of one entry with a signed checkpoint.
The keys live in DIR, are made anew for each run of the tests, and prove nothing anywhere else.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import struct
import sys
import time
from pathlib import Path
from typing import Any

from cryptography import x509  # type: ignore[import-not-found]
from cryptography.hazmat.primitives import hashes, serialization  # type: ignore[import-not-found]
from cryptography.hazmat.primitives.asymmetric import ec  # type: ignore[import-not-found]
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier  # type: ignore[import-not-found]

ISSUER = "https://token.actions.githubusercontent.com"
FULCIO = "1.3.6.1.4.1.57264.1."
TIMESTAMPS = ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
NOWHERE = "http://127.0.0.1:9/"
ROLES = ("ca", "ct", "rekor")
UTF8_STRING, OCTET_STRING = 12, 4


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def der(tag: int, data: bytes) -> bytes:
    size = len(data)
    if size < 128:
        return bytes([tag, size]) + data
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + data


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


class Authority:
    """The keys in one folder, and what is made with them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now = dt.datetime.now(dt.UTC).replace(microsecond=0)

    def create(self) -> None:
        """Make the keys, the root certificate and `trust.json`, which `sigstore --trust-config` reads."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for role in ROLES:
            key = ec.generate_private_key(ec.SECP256R1())
            (self._folder / f"{role}.key").write_bytes(
                key.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                )
            )
        root = self._root()
        (self._folder / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
        (self._folder / "trust.json").write_text(json.dumps(self._trust(root), indent=1))

    def _key(self, role: str) -> Any:
        return serialization.load_pem_private_key((self._folder / f"{role}.key").read_bytes(), None)

    def _public(self, role: str) -> bytes:
        return bytes(
            self._key(role)
            .public_key()
            .public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        )

    def _log_id(self, role: str) -> bytes:
        return hashlib.sha256(self._public(role)).digest()

    def _signed(self, role: str, data: bytes) -> bytes:
        return bytes(self._key(role).sign(data, ec.ECDSA(hashes.SHA256())))

    def _root(self) -> Any:
        name = x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, "agent-ways tests"),
                x509.NameAttribute(NameOID.COMMON_NAME, "agent-ways test root"),
            ]
        )
        public = self._key("ca").public_key()
        usage = x509.KeyUsage(
            digital_signature=False,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - dt.timedelta(days=1))
            .not_valid_after(self._now + dt.timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key("ca"), hashes.SHA256())
        )

    def _trust(self, root: Any) -> dict[str, Any]:
        since = {"start": (self._now - dt.timedelta(days=1)).isoformat().replace("+00:00", "Z")}

        def log(role: str) -> dict[str, Any]:
            public = {
                "rawBytes": encoded(self._public(role)),
                "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                "validFor": since,
            }
            return {
                "baseUrl": NOWHERE + role,
                "hashAlgorithm": "SHA2_256",
                "publicKey": public,
                "logId": {"keyId": encoded(self._log_id(role))},
            }

        service = {"url": NOWHERE, "majorApiVersion": 1, "validFor": since, "operator": "tests"}
        certificate = {"rawBytes": encoded(root.public_bytes(serialization.Encoding.DER))}
        return {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [log("rekor")],
                "ctlogs": [log("ct")],
                "timestampAuthorities": [],
                "certificateAuthorities": [
                    {
                        "subject": {"organization": "agent-ways tests", "commonName": "agent-ways test root"},
                        "uri": f"{NOWHERE}fulcio",
                        "certChain": {"certificates": [certificate]},
                        "validFor": since,
                    }
                ],
            },
            "signingConfig": {
                "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [service],
                "rekorTlogUrls": [service],
                "tsaUrls": [],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaConfig": {"selector": "ANY"},
            },
        }

    def _leaf(self, public: Any, repository: str, identity: str, ref: str) -> Any:
        """A certificate as a run of a workflow gets one, with its timestamp from the certificate log."""
        root = x509.load_pem_x509_certificate((self._folder / "ca.pem").read_bytes())
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=False,
            crl_sign=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(root.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - dt.timedelta(minutes=1))
            .not_valid_after(self._now + dt.timedelta(minutes=9))
            .add_extension(usage, critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key("ca").public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identity)]), critical=True)
        )
        commit = "0" * 40
        plain = {1: ISSUER, 2: "push", 3: commit, 4: "release", 5: repository, 6: ref}
        url = f"https://github.com/{repository}"
        typed = {8: ISSUER, 9: identity, 10: commit, 11: "github-hosted", 12: url, 13: commit, 14: ref, 18: identity}
        values = {number: value.encode() for number, value in plain.items()}
        values |= {number: der(UTF8_STRING, value.encode()) for number, value in {**typed, 20: "push"}.items()}
        for number, value in values.items():
            oid = ObjectIdentifier(f"{FULCIO}{number}")
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, value), critical=False)
        body = builder.sign(self._key("ca"), hashes.SHA256()).tbs_certificate_bytes
        stamps = x509.UnrecognizedExtension(TIMESTAMPS, der(OCTET_STRING, self._timestamps(body)))
        return builder.add_extension(stamps, critical=False).sign(self._key("ca"), hashes.SHA256())

    def _timestamps(self, body: bytes) -> bytes:
        """The certificate log's word, over the certificate without it."""
        at = int(time.time() * 1000)
        entry = hashlib.sha256(self._public("ca")).digest() + len(body).to_bytes(3, "big") + body
        signature = self._signed("ct", struct.pack("!BBQH", 0, 0, at, 1) + entry + b"\0\0")
        one = struct.pack("!B32sQH", 0, self._log_id("ct"), at, 0) + bytes([4, 3])
        one += struct.pack("!H", len(signature)) + signature
        many = struct.pack("!H", len(one)) + one
        return struct.pack("!H", len(many)) + many

    def bundle(self, data: bytes, repository: str, identity: str, ref: str) -> dict[str, Any]:
        """The bundle of `data`, as that identity would have signed it now."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._leaf(key.public_key(), repository, identity, ref)
        digest = hashlib.sha256(data)
        signature = key.sign(data, ec.ECDSA(hashes.SHA256()))
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        body = compact(
            {
                "apiVersion": "0.0.1",
                "kind": "hashedrekord",
                "spec": {
                    "data": {"hash": {"algorithm": "sha256", "value": digest.hexdigest()}},
                    "signature": {"content": encoded(signature), "publicKey": {"content": encoded(pem)}},
                },
            }
        )
        return {
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": {"rawBytes": encoded(certificate.public_bytes(serialization.Encoding.DER))},
                "tlogEntries": [self._entry(body)],
            },
            "messageSignature": {
                "messageDigest": {"algorithm": "SHA2_256", "digest": encoded(digest.digest())},
                "signature": encoded(signature),
            },
        }

    def _entry(self, body: bytes) -> dict[str, Any]:
        """The signature log's entry: a promise, and the proof that it is in a log of one."""
        at, log = int(time.time()), self._log_id("rekor")
        promised = compact({"body": encoded(body), "integratedTime": at, "logID": log.hex(), "logIndex": 0})
        root = hashlib.sha256(b"\0" + body).digest()
        note = f"rekor.test - 1\n1\n{encoded(root)}\n"
        signed = encoded(log[:4] + self._signed("rekor", note.encode()))
        return {
            "logIndex": "0",
            "logId": {"keyId": encoded(log)},
            "kindVersion": {"kind": "hashedrekord", "version": "0.0.1"},
            "integratedTime": str(at),
            "inclusionPromise": {"signedEntryTimestamp": encoded(self._signed("rekor", promised))},
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": encoded(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": {"envelope": f"{note}\n\u2014 rekor.test {signed}\n"},
            },
            "canonicalizedBody": encoded(body),
        }


def main(words: list[str]) -> None:
    authority = Authority(Path(words[1]))
    if words[0] == "init":
        authority.create()
        return
    repository, identity, ref = words[2:5]
    for path in map(Path, words[5:]):
        bundle = authority.bundle(path.read_bytes(), repository, identity, ref)
        Path(f"{path}.sigstore.json").write_text(json.dumps(bundle))


if __name__ == "__main__":
    main(sys.argv[1:])
