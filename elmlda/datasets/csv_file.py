"""The columns of the user's own CSV file: numbers or text."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.datasets.content import open_content
from elmlda.datasets.labels import index_classes
from elmlda.datasets.words import join_words, quote_name
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory

SUFFIXES = (".csv", ".tsv")
DELIMITERS = ",;\t"
MISSING = {"", "?", "na", "n/a", "#n/a", "nan", "-nan", "null", "none"}
"""What stands for a value that is not there, in any case of letters."""
MAX_CATEGORIES = 100
"""A column with more different strings is a name or a number misspelt, hardly a category."""
BYTES_PER_BYTE = 12
"""Memory for each byte of text, at most: itself, decoded, and half a number in two float64 arrays."""
MAX_COLUMNS = 100_000
"""More are a table written on one line: what is kept of each would take many times its bytes."""
ROWS_AT_A_TIME = 4096


def is_csv(path: Path) -> bool:
    """Whether a file's name says that it is CSV."""
    return path.name.lower().removesuffix(".gz").endswith(SUFFIXES)


@dataclass(frozen=True)
class CsvFile:
    """The text of a CSV file, and what its columns are called."""

    path: Path
    text: str
    sha256: str
    """Of the content after decompression."""
    delimiter: str
    names: tuple[str, ...] = ()
    """Of the columns; their numbers from 1 if the first line has samples already."""
    has_names: bool = True

    @classmethod
    def open(cls, path: Path, needs_names: bool = True) -> CsvFile:
        """Read the file; without names in its first line it is refused, unless it needs none."""
        text, sha256 = _read_text(path)
        file = cls(path, text, sha256, _find_delimiter(path, text))
        _, first = next(file._lines(), (0, []))
        if not any(first):
            file.fail("no first line, expected the columns' names.")
        if not needs_names and all(_is_number(name or "0") for name in first):
            file._require_no_numbering(first)
            numbers = tuple(map(str, range(1, len(first) + 1)))
            return cls(path, text, sha256, file.delimiter, numbers, has_names=False)
        file._require_names(first)
        return cls(path, text, sha256, file.delimiter, tuple(first))

    def fail(self, what: str, line: int | None = None) -> NoReturn:
        """Raise an error that names the file."""
        raise ElmldaError(f"{self.path}{'' if line is None else f', line {line}'}: {what}") from None

    def find_label(self, label: str | None) -> int:
        columns = join_words(self.names)
        if label is None:
            raise ElmldaError(
                f"{self.path}: which column has the class: {columns}?",
                "Name it with {label}.",
                label=None,
            )
        if label not in self.names:
            by_lower = {name.lower(): name for name in self.names}
            close = difflib.get_close_matches(label.lower(), by_lower, n=1)
            hint = f"Did you mean {quote_name(by_lower[close[0]])}? " if close else ""
            self.fail(f"no column '{label}'. {hint}It has the columns: {columns}.")
        return self.names.index(label)

    def keep_columns(self, drop: Sequence[str]) -> list[int]:
        """The columns that are left without some, which are given by name or by number from 1."""
        n_columns, dropped = len(self.names), set()
        for name in drop:
            if name in self.names:
                dropped.add(self.names.index(name))
            elif name.isdecimal() and 1 <= int(name) <= n_columns:
                dropped.add(int(name) - 1)
            else:
                self.fail(f"no column '{name}' to drop among {n_columns:,}.")
        return [i for i in range(n_columns) if i not in dropped]

    def read_columns(
        self, wanted: Collection[int], as_text: Collection[int]
    ) -> tuple[dict[int, list[str]], dict[int, FloatArray]]:
        """Columns of text, all that are wanted so and those with a word, and columns of numbers."""
        parts: dict[int, list[FloatArray]] = {i: [] for i in wanted if i not in as_text}
        for lines, columns in self._blocks():
            for i in list(parts):
                values = self._parse_numbers(i, lines, columns[i])
                if values is None:
                    del parts[i]
                else:
                    parts[i].append(values)
        # Column by column, so that no more than one is held twice.
        numbers = {i: np.concatenate(parts.pop(i)) for i in list(parts) if parts[i]}
        texts: dict[int, list[str]] = {i: [] for i in wanted if i not in numbers}
        n_samples = 0
        # Once more, since only now it is known which columns have text somewhere.
        for lines, columns in self._blocks():
            n_samples += len(lines)
            for i, column in texts.items():
                self._require_no_missing(i, lines, columns[i])
                column += columns[i]
        if not n_samples:
            self.fail("no lines below the first, expected samples.")
        return texts, numbers

    def find_categories(self, column: int, values: list[str]) -> tuple[tuple[str, ...], IntArray]:
        """The different values, and each sample's index among them."""
        categories, indices = index_classes(values)
        if len(categories) > MAX_CATEGORIES:
            example = next(value for value in values if not _is_number(value))
            self.fail(
                f"column {quote_name(self.names[column])} has {len(categories):,} different values "
                f"and not all are numbers ({quote_name(example)}), expected numbers or at most "
                f"{MAX_CATEGORIES} categories. Mend it, or leave the column out."
            )
        return categories, indices

    def _parse_numbers(
        self, column: int, lines: Sequence[int], cells: Sequence[str]
    ) -> FloatArray | None:
        """The cells as numbers, None if one of them is none."""
        try:
            values: FloatArray = np.array(cells, np.float64)
        except ValueError:
            self._require_no_missing(column, lines, cells)
            return None
        if "_" in "".join(cells):  # 1_000 is a number to Python, hardly to whoever wrote the file
            return None
        finite = np.isfinite(values)
        if not finite.all():
            self._require_no_missing(column, lines, cells)
            bad = int(np.argmin(finite))
            name = quote_name(self.names[column])
            self.fail(f"column {name} is {cells[bad]}, expected a finite number.", lines[bad])
        return values

    def _require_no_missing(self, column: int, lines: Sequence[int], cells: Sequence[str]) -> None:
        for line, cell in zip(lines, cells, strict=True):
            if len(cell) < 5 and cell.lower() in MISSING:
                found = f" ('{cell}')" if cell else ""
                name = quote_name(self.names[column])
                self.fail(f"no value in column {name}{found}. Fill it in, or leave the line out.", line)

    def _require_no_numbering(self, first: Sequence[str]) -> None:
        """Refuse what may be a sample or the columns' numbers: from 0, as pandas has them, or 1."""
        columns = first[1:] if first[0] == "" else first  # pandas' index has no name
        numbers = [float(column or "nan") for column in columns]
        if numbers == list(range(len(numbers))) or (numbers == list(range(1, len(numbers) + 1)) != [1]):
            self.fail(
                f"the first line is {join_words(columns)}: the columns' numbers, as pandas writes "
                "them, or a sample? Give the columns names, or write the file with "
                "to_csv(header=False)."
            )

    def _require_names(self, names: Sequence[str]) -> None:
        """Refuse columns without a name of their own."""
        if all(map(_is_number, names)):
            self.fail("the first line has only numbers, expected the columns' names there.")
        seen = set()
        for i, name in enumerate(names):
            if not name:
                self.fail(f"column {i + 1} has no name in the first line.")
            if name in seen:
                self.fail(f"two columns are named {quote_name(name)}, expected one of them.")
            seen.add(name)

    def _blocks(self) -> Iterator[tuple[tuple[int, ...], list[tuple[str, ...]]]]:
        """Line numbers and columns of some samples at a time."""
        lines = self._lines()
        if self.has_names:
            next(lines)
        while block := list(islice(lines, ROWS_AT_A_TIME)):
            for line, cells in block:
                if len(cells) != len(self.names):
                    expected = f"expected {len(self.names)} as in the first line."
                    self.fail(f"{len(cells)} values, {expected}", line)
            numbers, rows = zip(*block, strict=True)
            yield numbers, list(zip(*rows, strict=True))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Each line that is not empty, with the number of the line that it ends in."""
        stream = io.StringIO(self.text, newline="")
        reader = csv.reader(stream, delimiter=self.delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, [cell.strip() for cell in cells]
        except csv.Error as error:
            self.fail(f"not a CSV file: {error}.", reader.line_num)


def _read_text(path: Path) -> tuple[str, str]:
    """A file's text and SHA-256."""
    memory = available_memory()
    with open_content(path, "a CSV file") as content:
        raw = content.read_all(None if memory is None else memory // BYTES_PER_BYTE)
    try:
        return raw.decode("utf-8-sig"), content.sha256
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ElmldaError(
            f"{path}, line {line}: not text in UTF-8, expected a CSV file. If it is in Latin-1, run "
            "iconv -f latin1 -t utf-8 on it first."
        ) from None


def _find_delimiter(path: Path, text: str) -> str:
    end = text.find("\n")
    counts = {each: text.count(each, 0, None if end < 0 else end) for each in DELIMITERS}
    delimiter = max(counts, key=lambda each: counts[each])
    if counts[delimiter] >= MAX_COLUMNS:
        raise ElmldaError(
            f"{path}: {counts[delimiter] + 1:,} columns, expected at most {MAX_COLUMNS:,}."
        )
    return delimiter


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
