"""Files of data: read whole, raw or gzip, or refused in one line."""

import gzip
import hashlib
import zlib
from pathlib import Path

from elmlda.errors import ElmldaError


def read_content(path: Path, unpack: bool = True) -> bytes:
    """Read a file, decompressed if its content is gzip, whatever its name."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ElmldaError(
                f"{path}: a {'folder' if path.is_dir() else 'pipe'}, expected a file of data."
            )
        stored = path.read_bytes()
        return gzip.decompress(stored) if unpack and stored.startswith(b"\x1f\x8b") else stored
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ElmldaError(f"{path}: broken gzip data, or cut off: {error}.") from error
    except (OSError, ValueError) as error:  # ValueError: characters that no path can have
        raise ElmldaError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}.") from error


def hash_content(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()
