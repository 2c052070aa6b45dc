"""A run's folder: records, manifest, lock; made so that no fault loses or falsifies a record.

A record is on disk, flushed and synced, before the next network starts. A torn last line (the
process was killed, the power failed) is dropped when the run goes on. Every line of records ends with
its own CRC-32, and a manifest holds its own SHA-256, so that what a disk or an editor has changed is
refused instead of being counted; files from before that have neither, and are read without. Files
other than records are written beside their place and moved there, so they are old or new, never half.
Nothing is written through a symbolic link, nor into a folder or file that changed hands meanwhile.
"""

from __future__ import annotations

import csv
import dataclasses
import errno
import fcntl
import hashlib
import io
import json
import os
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Generic, Self, TypeVar, get_type_hints

import numpy as np

from elmlda.arrays import FloatArray
from elmlda.datasets.array_file import open_npz
from elmlda.errors import ElmldaError
from elmlda.evaluate import require_posteriors

SCHEMA = 2
OLD_SCHEMA = 1
"""Without checksums."""
CHECK = "crc32"
"""The last column of records: of the line's text before it."""
MANIFEST = "manifest.json"
LOCK = ".lock"
TEMPORARY = ".elmlda-"
"""How the names of files begin that are not whole yet."""
RESUMES = (
    "What was recorded before is safe: mend the cause and run the same command again, or use --out."
)
NO_FOLDER = "Its folder is not there: restore it and run the same command again, or use --out."

Record = TypeVar("Record")


class RecordFile(Generic[Record]):
    """A CSV file of one frozen dataclass's instances, appended to and read back.

    Parameters
    ----------
    refuse : called before the file is written, to raise an error if it must not be
    """

    def __init__(
        self, path: Path, record_type: type[Record], refuse: Callable[[], None] | None = None
    ) -> None:
        self.path = path
        self._type = record_type
        self._refuse = refuse or (lambda: None)
        self._n_bytes: int | None = None  # as it was left here; None: nobody has looked yet
        hints = get_type_hints(record_type)
        self._parsers: dict[str, Callable[[str], Any]] = {
            field.name: hints[field.name]
            for field in dataclasses.fields(record_type)  # type: ignore[arg-type]
        }

    def read(self) -> list[Record]:
        """Every whole record; a torn last line does not count."""
        try:
            text = self._read_bytes().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return []
        header, *lines = text[: text.rfind("\n") + 1].splitlines() or [self._header]
        if header not in (self._header, self._old_header):
            raise ElmldaError(
                f"{self.path}: the first line is '{header[:200]}', expected '{self._header}'. "
                "Another version of elmlda made it, or it was edited: use --out for a new run."
            )
        parse = self._parse_checked if header == self._header else self._parse
        return [parse(number, line) for number, line in enumerate(lines, start=2)]

    def append(self, records: Sequence[Record]) -> None:
        """Add records; when this returns, they are on disk. If it fails, the file is as before."""
        if not records:
            return
        lines = [self._format(record) for record in records]
        self._refuse()
        with _explained(self.path), open(self.path, "ab", 0, opener=_open_no_link) as file:
            size = file.tell()
            self._refuse_if_changed(size)
            if size == 0:
                lines.insert(0, self._header)
            content = "".join(f"{line}\n" for line in lines).encode()
            try:
                if file.write(content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
            self._n_bytes = size + len(content)
            if size == 0:
                _sync_folder(self.path.parent)

    def mend(self) -> None:
        """Cut off what follows the last line break, and give lines without one their CRC-32.

        From now on nobody else may change the file.
        """
        try:
            content = self._read_bytes()
        except FileNotFoundError:
            content = b""
        self._n_bytes = content.rfind(b"\n") + 1
        if self._n_bytes < len(content):
            with _explained(self.path), open(self.path, "r+b", 0, opener=_open_no_link) as file:
                file.truncate(self._n_bytes)
        if content[: self._n_bytes].partition(b"\n")[0].rstrip(b"\r") == self._old_header.encode():
            self._write(self.read())

    def sort(self, key: Callable[[Record], Any]) -> None:
        """Bring the records into order, whatever the order in which they came."""
        self.replace(sorted(self.read(), key=key))

    def replace(self, records: Sequence[Record]) -> None:
        """Have these records and no others; the file is the old one or the new one, never half."""
        self._refuse()
        self._refuse_if_changed(self.path.stat().st_size if self.path.exists() else 0)
        if records != self.read():
            self._write(records)

    def _write(self, records: Sequence[Record]) -> None:
        lines = [self._header, *map(self._format, records)]
        content = "".join(f"{line}\n" for line in lines).encode()
        write_atomically(self.path, content)
        self._n_bytes = len(content)

    def _refuse_if_changed(self, n_bytes: int) -> None:
        if self._n_bytes not in (None, n_bytes):
            raise ElmldaError(
                f"{self.path}: {n_bytes:,} bytes, expected {self._n_bytes:,}: something else changed "
                "or removed it during the run. Run the same command again to compute what it lacks."
            )

    def _read_bytes(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ElmldaError(f"{self.path}: cannot be read: {error.strerror or error}.") from error

    @property
    def _header(self) -> str:
        return f"{self._old_header},{CHECK}"

    @property
    def _old_header(self) -> str:
        return ",".join(self._parsers)

    def _format(self, record: Record) -> str:
        text = self._format_values(record)
        return f"{text},{_crc32(text)}"

    def _format_values(self, record: Record) -> str:
        out = io.StringIO()
        values = [getattr(record, name) for name in self._parsers]
        csv.writer(out, lineterminator="").writerow(
            [f"{value:.6g}" if isinstance(value, float) else value for value in values]
        )
        return out.getvalue()

    def _parse_checked(self, number: int, line: str) -> Record:
        text, _, check = line.rpartition(",")
        if check != _crc32(text):
            raise self._not_a_record(number, line, "its check does not fit: it was damaged or edited")
        return self._parse(number, text)

    def _parse(self, number: int, line: str) -> Record:
        try:
            if "\N{REPLACEMENT CHARACTER}" in line:
                raise ValueError("not UTF-8")
            values = next(csv.reader([line]), [])
            pairs = zip(self._parsers.items(), values, strict=True)
            record = self._type(**{name: parse(value) for (name, parse), value in pairs})
        except (ValueError, csv.Error) as error:
            raise self._not_a_record(number, line, str(error)) from error
        if self._format_values(record) != line:
            raise self._not_a_record(number, line, "not written as elmlda writes")
        return record

    def _not_a_record(self, number: int, line: str, why: str) -> ElmldaError:
        return ElmldaError(
            f"{self.path}, line {number}: {line[:200]!r} is not a record of {self._old_header} "
            f"({why[:200]}). Remove the line to have it computed again."
        )


class Run:
    """A run's folder, held by one process for writing.

    Parameters
    ----------
    folder : made if it does not exist
    experiment : name of the manifest's section for `grown`
    identity : what makes the run's networks what they are: must equal the folder's
    fixed : the experiment's own settings that must equal the folder's too
    grown : what may grow when a run goes on (the number of repeats, the list of sizes)
    machine : where this part of the run is computed, for the manifest
    """

    def __init__(
        self,
        folder: Path,
        experiment: str,
        identity: Mapping[str, Any],
        fixed: Mapping[str, Any],
        grown: Mapping[str, Any],
        machine: Mapping[str, Any],
    ) -> None:
        self.folder = folder
        self._experiment = experiment
        self._identity = _as_json(identity)
        self._fixed = _as_json(fixed)
        self._grown = _as_json(grown)
        self._machine = _as_json(machine)
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        with _explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            _sync_folder(self.folder.parent)
        self._lock = _lock(self.folder)
        try:
            with _explained(self.folder):
                for left_over in _left_overs(self.folder):
                    left_over.unlink()
            self._write_manifest()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lock:
            self._lock.close()

    def records(self, name: str, record_type: type[Record]) -> RecordFile[Record]:
        """The folder's file of such records, ready to be added to."""
        file = RecordFile(self.folder / name, record_type, self._refuse_if_replaced)
        file.mend()
        return file

    def _refuse_if_replaced(self) -> None:
        """Refuse to write where the lock is not this process's any more."""
        assert self._lock is not None
        path = self.folder / LOCK
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), path.stat()):
                return
        raise ElmldaError(
            f"{path}: removed or replaced during the run, perhaps with its folder, so another elmlda "
            "may be writing there. Run the same command again to compute what the folder lacks."
        )

    def _write_manifest(self) -> None:
        from elmlda import __version__

        old = read_manifest(self.folder)
        records = sorted(self.folder.glob("*.csv"))
        if old is None and records:
            raise ElmldaError(
                f"{records[0]} is there without {MANIFEST}, so nobody knows how it was made. "
                "Restore that file, or use --out for a new run."
            )
        if old is not None:
            check_same_run(self.folder, old, self._identity, self._experiment, self._fixed)
        fresh = {"schema": SCHEMA, "elmlda": __version__, "run": self._identity}
        new = dict(old if old and old["run"] == self._identity else fresh)
        experiments = new.get("experiments", {})
        try:
            grown = _grow(experiments.get(self._experiment, {}), self._grown)
        except TypeError as error:
            raise _not_a_manifest(self.folder / MANIFEST, error) from error
        new["experiments"] = {**experiments, self._experiment: {**grown, **self._fixed}}
        machines = new.get("machines", [])
        new["machines"] = machines if self._machine in machines else [*machines, self._machine]
        if new != old:
            new["schema"] = SCHEMA
            signed = {**new, "sha256": _sha256(new)}
            content = json.dumps(signed, indent=2, ensure_ascii=False) + "\n"
            write_atomically(self.folder / MANIFEST, content.encode())


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The folder's manifest, None if it has none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        schema, sha256 = manifest["schema"], manifest.pop("sha256", None)
        if schema not in (SCHEMA, OLD_SCHEMA):
            raise ElmldaError(
                f"{path}: schema {schema!r:.40}, this elmlda writes schema {SCHEMA}. "
                "Use --out for a new run."
            )
        if sha256 != _sha256(manifest) and (sha256 is not None or schema == SCHEMA):
            raise ValueError("it does not have its checksum: it was damaged or edited")
        _require_sections(manifest)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _not_a_manifest(path, error) from error
    return dict(manifest)


def _require_sections(manifest: dict[str, Any]) -> None:
    """Refuse what is not what a manifest has: other keys, or other kinds of values."""
    if manifest.keys() != {"schema", "elmlda", "run", "experiments", "machines"}:
        raise KeyError(", ".join(manifest))
    experiments = manifest["experiments"]
    if not all(isinstance(part, dict) for part in (manifest["run"], experiments)):
        raise TypeError("sections are missing")
    if not all(isinstance(part, dict) for part in experiments.values()):
        raise TypeError("sections are missing")
    if not isinstance(manifest["machines"], list):
        raise TypeError("machines are missing")


def _sha256(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _not_a_manifest(path: Path, error: Exception) -> ElmldaError:
    return ElmldaError(
        f"{path}: not a manifest that elmlda wrote ({type(error).__name__}: {str(error)[:200]}). "
        "Restore it, or use --out for a new run."
    )


def check_same_run(
    folder: Path,
    manifest: Mapping[str, Any],
    identity: Mapping[str, Any],
    experiment: str,
    fixed: Mapping[str, Any],
) -> None:
    """Refuse to go on with a run of another configuration, naming the settings that differ.

    A folder without records (its run failed at once, say) may be made anew.
    """
    if not any(folder.glob("*.csv")):
        return
    recorded = manifest["experiments"].get(experiment, fixed)
    made = {**manifest["run"], **{key: recorded.get(key) for key in fixed}}
    asked = _as_json({**identity, **fixed})
    differing = [key for key in {**made, **asked} if made.get(key) != asked.get(key)]
    if "sha256" in differing:
        was, now = made.get("sha256") or {}, asked.get("sha256") or {}
        files = ", ".join(name for name in {**was, **now} if was.get(name) != now.get(name))
        raise ElmldaError(
            f"{folder} was made with other data ({files} differ). "
            "Use the same data to continue it, or --out for a new run."
        )
    if differing:
        old = ", ".join(f"{key} {_show(made.get(key))}" for key in differing)
        new = ", ".join(f"{key} {_show(asked.get(key))}" for key in differing)
        raise ElmldaError(
            f"{folder} was made with {old}; this command has {new}. "
            "Use the same settings to continue it, or --out for a new run."
        )


def write_atomically(path: Path, content: bytes, advice: str = RESUMES) -> None:
    """Write a file so that it is there whole, or not at all; `advice` is what to do if it is not."""
    with _explained(path, advice):
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)  # noqa: PTH101
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def unique(records: Iterable[Record], key: Callable[[Record], Any], path: Path) -> dict[Any, Record]:
    """A file's records by key; two with the same key are an error."""
    found: dict[Any, Record] = {}
    lines: dict[Any, int] = {}
    for line, record in enumerate(records, start=2):
        name = key(record)
        if name in found:
            raise ElmldaError(
                f"{path}, lines {lines[name]} and {line}: two records of {name}. "
                "Remove both lines to have it computed again."
            )
        found[name], lines[name] = record, line
    return found


class PosteriorStore:
    """Test posteriors of a run's networks, one file each, trusted only if they prove themselves.

    Parameters
    ----------
    folder : the run's
    identity : the run's, as in its manifest: a file of another run is not used
    shape : n_test × n_classes
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], shape: tuple[int, int]) -> None:
        self._folder = folder / "posteriors"
        self._identity = identity
        self._shape = shape

    def write(self, key: tuple[int, ...], n_hidden: int, posteriors: FloatArray) -> None:
        """Keep a network's posteriors (float32)."""
        require_posteriors(posteriors)
        content = io.BytesIO()
        np.savez(
            content,
            posteriors=posteriors,
            network=np.array(self._network(key, n_hidden)),
            sha256=np.array(hashlib.sha256(posteriors.tobytes()).hexdigest()),
        )
        path = self._path(key, n_hidden)
        with _explained(path):
            if self._folder.is_symlink():
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            self._folder.mkdir(exist_ok=True)
        write_atomically(path, content.getvalue())

    def read(self, key: tuple[int, ...], n_hidden: int) -> FloatArray | None:
        """A network's posteriors; None if there are none, with a warning if they are broken."""
        path = self._path(key, n_hidden)
        try:
            return self._read(path, self._network(key, n_hidden))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, ElmldaError) as error:
            reason = str(error).removeprefix(f"{path}: ")
            warnings.warn(
                f"{path}: not used, the network is trained again: {reason}",
                UntrustedPosteriorsWarning,
                stacklevel=2,
            )
            return None

    def _read(self, path: Path, network: str) -> FloatArray:
        expected = 4 * self._shape[0] * self._shape[1]
        if path.stat().st_size > expected + 100_000:
            raise ValueError(f"{path.stat().st_size:,} bytes, expected about {expected:,}")
        with open_npz(path) as archive:
            if str(archive.read("network").values) != network:
                raise ValueError("it is of another run or network")
            posteriors: FloatArray = archive.read("posteriors").values
            sha256 = str(archive.read("sha256").values)
        if posteriors.shape != self._shape or posteriors.dtype != np.float32:
            raise ValueError(f"{posteriors.dtype} of shape {posteriors.shape}")
        if hashlib.sha256(posteriors.tobytes()).hexdigest() != sha256:
            raise ValueError("the content does not have its checksum")
        require_posteriors(posteriors)
        return posteriors

    def _path(self, key: tuple[int, ...], n_hidden: int) -> Path:
        return self._folder / f"{'-'.join(map(str, key))}-{n_hidden}.npz"

    def _network(self, key: tuple[int, ...], n_hidden: int) -> str:
        about = {"run": self._identity, "key": list(key), "n_hidden": n_hidden}
        return json.dumps(about, sort_keys=True)


class UntrustedPosteriorsWarning(UserWarning):
    """A file of posteriors is broken, or of another network, and is not used."""


def _left_overs(folder: Path) -> list[Path]:
    """Files that were not whole when a process was killed."""
    posteriors = folder / "posteriors"
    places = [folder] if posteriors.is_symlink() else [folder, posteriors]
    return [path for place in places for path in place.glob(f"{TEMPORARY}*") if path.is_file()]


def _lock(folder: Path) -> IO[str]:
    with _explained(folder / LOCK):
        file = open(folder / LOCK, "a+", encoding="ascii", opener=_open_no_link)  # noqa: SIM115
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise ElmldaError(
            f"{folder} is being written by another elmlda (process {holder}). "
            "Wait for it, or use --out for another run."
        ) from None
    try:
        with _explained(folder / LOCK):
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
    except BaseException:
        with suppress(OSError):  # closing writes what is buffered
            file.close()
        raise
    return file


def _open_no_link(path: str, flags: int) -> int:
    """Open a file, but not through a symbolic link, which may lead out of the folder."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _crc32(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path, advice: str = RESUMES) -> Iterator[None]:
    """Turn the system's refusal to write into an error that says where and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno == errno.ELOOP:
            why = "a symbolic link, and elmlda writes through none"
        if error.errno in (errno.ENOENT, errno.ENOTDIR) and advice == RESUMES:
            advice = NO_FOLDER  # and what was recorded in it is not safe
        raise ElmldaError(f"{path}: cannot be written: {why}. {advice}".rstrip()) from error


def _grow(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The larger of two numbers, all of two lists."""
    grown = {**old, **new}
    for key in old.keys() & new.keys():
        if isinstance(new[key], list):
            grown[key] = sorted({*old[key], *new[key]})
        else:
            grown[key] = max(old[key], new[key])
    return grown


def _as_json(value: Any) -> Any:
    """The value as it will look when it has been written and read back."""
    return json.loads(json.dumps(value))


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False).strip('"')
    return text if len(text) <= 60 else f"{text[:57]}…"
