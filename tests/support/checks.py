"""Checksums as elmlda writes them, for content that a test has made or damaged."""

import hashlib
import json
import zlib


def add_checks(lines):
    """Records' text without a check column -> with the one that fits each line."""
    header, *rows = lines.splitlines(keepends=True) or [b""]
    checked = [_with_check(row) if row.endswith(b"\n") else row for row in rows]
    return b"".join([header.rstrip(b"\n") + b",crc32\n", *checked])


def _with_check(row):
    text = row.rstrip(b"\n")
    return text + b",%08x\n" % zlib.crc32(text)


def sign(manifest):
    """A manifest's content, as bytes -> with the SHA-256 that fits it, if it is JSON at all."""
    try:
        content = json.loads(manifest)
        sha256 = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return json.dumps({**content, "sha256": sha256}).encode()
    except (ValueError, TypeError, RecursionError):
        return manifest
