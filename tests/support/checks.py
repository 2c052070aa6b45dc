"""Checksums as elmlda writes them, for content that a test has made or damaged."""

import hashlib
import json
import zlib


def add_checks(lines, identity=""):
    """Records' text without a check column -> with the one that fits each line of such a run."""
    header, *rows = lines.splitlines(keepends=True) or [b""]
    checked = [_with_check(row, identity) if row.endswith(b"\n") else row for row in rows]
    return b"".join([header.rstrip(b"\n") + b",crc32\n", *checked])


def _with_check(row, identity):
    text = row.rstrip(b"\n")
    return text + b",%08x\n" % zlib.crc32(identity.encode() + text)


def identify(manifest, experiment, fixed=()):
    """What checks of an experiment's records begin with."""
    section = manifest["experiments"].get(experiment, {})
    values = {name: section[name] for name in fixed if name in section}
    return json.dumps({"run": manifest["run"], "fixed": values}, sort_keys=True)


def sign(manifest):
    """A manifest's content, as bytes -> with the SHA-256 that fits it, if it is JSON at all."""
    try:
        content = json.loads(manifest)
        sha256 = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return json.dumps({**content, "sha256": sha256}).encode()
    except (ValueError, TypeError, RecursionError):
        return manifest


def edit_manifest(folder, manifest):
    """Give a run another manifest, with checksums that fit: its own and those of sweep and timing."""
    manifest = {key: value for key, value in manifest.items() if key != "sha256"}
    (folder / "manifest.json").write_bytes(sign(json.dumps(manifest)))
    for name, fixed in (("sweep", ()), ("timing", ("threads", "chunk"))):
        path = folder / f"{name}.csv"
        if path.exists():
            lines = path.read_bytes().splitlines()
            text = b"".join(line.rpartition(b",")[0] + b"\n" for line in lines)
            path.write_bytes(add_checks(text, identify(manifest, name, fixed)))
