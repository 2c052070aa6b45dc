"""A run's folder, locked by one process: nothing is written if the folder was replaced meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from elmlda.errors import ElmldaError
from elmlda.runs.files import LOCK, explain_refusal, find_left_overs, lock_folder, sync_folder
from elmlda.runs.manifest import Entry, write_manifest
from elmlda.runs.records import AnyRecord, RecordFile, open_records


@dataclass(frozen=True)
class Run:
    """A run's folder, locked for writing."""

    folder: Path
    manifest: Mapping[str, Any]
    lock: IO[str]

    @classmethod
    @contextmanager
    def open(cls, folder: Path, entry: Entry) -> Iterator[Self]:
        """Lock the folder, which is made if it does not exist, and add the entry to its manifest."""
        with explain_refusal(folder):
            folder.mkdir(parents=True, exist_ok=True)
            sync_folder(folder.parent)
        with lock_folder(folder) as lock:
            with explain_refusal(folder):
                for left_over in find_left_overs(folder):
                    left_over.unlink()
            yield cls(folder, write_manifest(folder, entry), lock)

    def records(self, record_type: type[AnyRecord]) -> RecordFile[AnyRecord]:
        """The folder's file of such records, ready to be added to."""
        file = open_records(self.folder, self.manifest, record_type, self._refuse_if_replaced)
        file.repair()
        return file

    def _refuse_if_replaced(self) -> None:
        """Refuse to write where the lock is not this process's any more."""
        path = self.folder / LOCK
        with suppress(OSError):
            if os.path.samestat(os.fstat(self.lock.fileno()), path.stat()):
                return
        raise ElmldaError(
            f"{path}: removed or replaced during the run, perhaps with its folder, so another elmlda "
            "may be writing there. Run the same command again to compute what the folder lacks."
        )
