"""CSV files of records, each line with a checksum that covers the line and the run's identity.

A line that a disk or an editor has changed, or that belongs to another run, is refused and not counted.

A record is on disk, flushed and synced, before `append` returns. A torn last line (the process was
killed, the power failed) is dropped when the run goes on.
"""

from __future__ import annotations

import csv
import dataclasses
import errno
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, get_type_hints

from elmlda.errors import ElmldaError
from elmlda.runs.files import (
    explain_refusal,
    open_no_link,
    read_if_there,
    sync_folder,
    unlink_others,
    write_atomically,
)
from elmlda.runs.record import Record

CHECK = "crc32"
"""The last column: CRC-32 of the run's identity, followed by the line's text before this column."""


AnyRecord = TypeVar("AnyRecord", bound=Record)


def open_records(
    folder: Path,
    manifest: Mapping[str, Any],
    record_type: type[AnyRecord],
    refuse: Callable[[], None] | None = None,
) -> RecordFile[AnyRecord]:
    """The folder's file of such records, each bound to the run that the manifest describes."""
    section = manifest["experiments"].get(record_type.EXPERIMENT, {})
    fixed = {name: section[name] for name in record_type.FIXED if name in section}
    identity = json.dumps({"run": manifest["run"], "fixed": fixed}, sort_keys=True)
    return RecordFile(folder / record_type.FILE, record_type, identity, refuse)


class RecordFile(Generic[AnyRecord]):
    """A CSV file of one frozen dataclass's instances, appended to and read back.

    Parameters
    ----------
    identity : of the run; records of another one are refused
    refuse : called before the file is written, to raise an error if it must not be
    """

    def __init__(
        self,
        path: Path,
        record_type: type[AnyRecord],
        identity: str,
        refuse: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self._type = record_type
        self._identity_crc = zlib.crc32(identity.encode())
        self._refuse = refuse or (lambda: None)
        self._n_bytes: int | None = None  # as it was left here; None: not read yet
        hints = get_type_hints(record_type)
        self._parsers: dict[str, Callable[[str], Any]] = {
            field.name: hints[field.name] for field in dataclasses.fields(record_type)
        }
        self._header = ",".join([*self._parsers, CHECK])

    def read(self) -> list[AnyRecord]:
        """Every whole record; a torn last line does not count."""
        text = self._read_bytes().decode("utf-8", errors="replace")
        header, *lines = text[: text.rfind("\n") + 1].splitlines() or [self._header]
        if header != self._header:
            raise ElmldaError(
                f"{self.path}: the first line is '{header[:200]}', expected '{self._header}'.",
                "Another version of elmlda made it, or it was edited: remove it to have it computed "
                "again, or use another {out} for a new run.",
                out=None,
            )
        return [self._parse(number, line) for number, line in enumerate(lines, start=2)]

    def read_unique(self) -> list[AnyRecord]:
        """Every whole record; two with the same key are an error, as one would count twice."""
        records = self.read()
        lines: dict[Any, int] = {}
        for line, record in enumerate(records, start=2):
            if first := lines.get(record.key):
                raise ElmldaError(
                    f"{self.path}, lines {first} and {line}: two records of {record.key}. "
                    "Remove both lines to have it computed again."
                )
            lines[record.key] = line
        return records

    def append(self, records: Sequence[AnyRecord]) -> None:
        """Add records; when this returns, they are on disk. If it fails, the file is as before."""
        if not records:
            return
        lines = [self._format(record) for record in records]
        self._refuse()
        unlink_others(self.path)
        with explain_refusal(self.path), open(self.path, "ab", 0, opener=open_no_link) as file:
            size = file.tell()
            self._refuse_if_changed(size)
            content = _join_lines(lines if size else [self._header, *lines])
            try:
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
            self._n_bytes = size + len(content)
            if size == 0:
                sync_folder(self.path.parent)

    def repair(self) -> None:
        """Cut off what follows the last line break; from now on no other process may change it."""
        content = self._read_bytes()
        self._n_bytes = content.rfind(b"\n") + 1
        if self._n_bytes < len(content):
            unlink_others(self.path)
            with explain_refusal(self.path), open(self.path, "r+b", 0, opener=open_no_link) as file:
                file.truncate(self._n_bytes)

    def sort(self) -> None:
        """Sort the records, which come in any order, by their keys."""
        self.replace(sorted(self.read(), key=lambda record: record.key))

    def replace(self, records: Sequence[AnyRecord]) -> None:
        """Write these records and no others; the file is the old one or the new one, never half."""
        self._refuse()
        self._refuse_if_changed(self.path.stat().st_size if self.path.exists() else 0)
        if records != self.read():
            content = _join_lines([self._header, *map(self._format, records)])
            write_atomically(self.path, content)
            self._n_bytes = len(content)

    def _refuse_if_changed(self, n_bytes: int) -> None:
        if self._n_bytes not in (None, n_bytes):
            raise ElmldaError(
                f"{self.path}: {n_bytes:,} bytes, expected {self._n_bytes:,}: something else changed "
                "or removed it during the run. Run the same command again to compute what it lacks."
            )

    def _read_bytes(self) -> bytes:
        return read_if_there(self.path, "a file of records") or b""

    def _format(self, record: AnyRecord) -> str:
        text = self._format_values(record)
        return f"{text},{self._check(text)}"

    def _check(self, text: str) -> str:
        return f"{zlib.crc32(text.encode(), self._identity_crc):08x}"

    def _format_values(self, record: AnyRecord) -> str:
        out = io.StringIO()
        values = [getattr(record, name) for name in self._parsers]
        csv.writer(out, lineterminator="").writerow(
            [f"{value:.6g}" if isinstance(value, float) else value for value in values]
        )
        return out.getvalue()

    def _parse(self, number: int, line: str) -> AnyRecord:
        text, _, check = line.rpartition(",")
        try:
            if check != self._check(text):
                raise ValueError(
                    "its check does not fit: a record of another run, or damaged or edited"
                )
            if "\N{REPLACEMENT CHARACTER}" in text:
                raise ValueError("not UTF-8")
            pairs = zip(self._parsers.items(), next(csv.reader([text]), []), strict=True)
            record = self._type(**{name: parse(value) for (name, parse), value in pairs})
            if self._format_values(record) != text:
                raise ValueError("not written as elmlda writes")
        except (ValueError, csv.Error) as error:
            raise ElmldaError(
                f"{self.path}, line {number}: {line[:200]!r} is not a record of {self._header} "
                f"({str(error)[:200]}). Remove the line to have it computed again."
            ) from error
        return record


def _join_lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()
