"""The user's own CSV file: columns of numbers and categories, one of them the class."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from elmlda.core.arrays import FloatArray, IntArray
from elmlda.datasets.content import open_content, require_memory
from elmlda.datasets.dataset import Split, Table
from elmlda.datasets.labels import index_classes
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory
from elmlda.text import as_text, join_words, quote_name

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


def load_csv(path: Path, label: str | None, drop: Sequence[str] = ()) -> Table:
    """Read a CSV file with column names in its first line.

    Parameters
    ----------
    path : Path
        Text in UTF-8, raw or gzip, with commas, semicolons or tabs.
    label : str
        The column that has the class, of any kind: numbers or strings.
    drop : sequence of str
        Columns that are no inputs, by name or by number from 1.

    Returns
    -------
    Table
        Columns of numbers are inputs. A column with anything else becomes an input for each of its
        different values, named as in `sex=F`: 1 where the sample has that value, else 0.

    Raises
    ------
    ElmldaError
        If it is no such file, a value is missing or not finite, or there is a single class.
    """
    file = CsvFile(path)
    label_column, kept = file.find_label(label), file.keep_columns(drop)
    if label_column not in kept:
        file.fail(f"'{label}' has the class and can't be dropped.")
    texts, numbers = file.read_columns(kept, {label_column})
    if not numbers and len(texts) == 1:
        file.fail(f"no column but '{label}', expected inputs beside it.")
    classes, labels = index_classes(texts.pop(label_column))
    if len(classes) < 2:
        file.fail(f"'{label}' is {join_words(classes)} in every line, expected two or more.")
    columns = [column for column in kept if column != label_column]
    names, inputs = _encode_inputs(file, columns, texts, numbers, len(labels))
    file_name = as_text(path.name).removesuffix(".gz")
    return Table(
        name=file_name[:-4] if file_name.endswith(SUFFIXES) else file_name,
        samples=Split(inputs, labels),
        classes=classes,
        checksums={file_name: file.sha256},
        feature_names=names,
        is_standardised=True,
        preparation={"label": str(label), **({"drop": ", ".join(drop)} if drop else {})},
    )


def _encode_inputs(
    file: CsvFile,
    columns: Sequence[int],
    texts: dict[int, list[str]],
    numbers: dict[int, FloatArray],
    n_samples: int,
) -> tuple[tuple[str, ...], FloatArray]:
    """Names and values of the inputs; each column of numbers is freed once it is copied."""
    categories = {column: file.find_categories(column, cells) for column, cells in texts.items()}
    sources: list[tuple[str, int, int | None]] = []
    for column in columns:
        name = file.names[column]
        if column in numbers:
            sources.append((name, column, None))
        else:
            values = categories[column][0]
            sources += [(f"{name}={value}", column, i) for i, value in enumerate(values)]
    names = tuple(name for name, *_ in sources)
    find_features(file.path, names, file.names)  # refuses names that would be ambiguous in a model
    what = f" for {len(names):,} inputs of {n_samples:,} samples, one for each category"
    require_memory(file.path, 8 * n_samples * len(names), what)
    inputs = np.empty((n_samples, len(names)))
    for i, (_, column, category) in enumerate(sources):
        inputs[:, i] = numbers.pop(column) if category is None else categories[column][1] == category
    return names, inputs


class Feature(NamedTuple):
    """Where an input comes from: a column of numbers, or one value of a column of categories."""

    column: int
    value: str | None


def find_features(path: Path, names: Sequence[str], columns: Sequence[str]) -> list[Feature]:
    """Where the inputs of these names come from in a file with these columns.

    Raises
    ------
    ElmldaError
        If a name has no column, or could mean two inputs: `a=x` a column, and a value of the column
        `a`.
    """
    place = {name: i for i, name in enumerate(columns)}
    found = []
    for name in names:
        cuts = [i for i, letter in enumerate(name) if letter == "="]
        parts = [(name, None), *((name[:i], name[i + 1 :]) for i in cuts)]
        possible = [Feature(place[column], value) for column, value in parts if column in place]
        if not possible:
            raise ElmldaError(
                f"{path}: no column {quote_name(name)}, which the model was trained with."
            )
        if len(possible) > 1:
            meanings = " or ".join(
                f"{'' if value is None else f'{quote_name(value)} in '}the column "
                f"{quote_name(columns[i])}"
                for i, value in possible
            )
            raise ElmldaError(
                f"{path}: the input {quote_name(name)} could be {meanings}. Rename a column."
            )
        found += possible
    return found


class CsvFile:
    """The text of a CSV file, and what its columns are called.

    Without names in its first line it is refused, unless it needs none.
    """

    def __init__(self, path: Path, needs_names: bool = True) -> None:
        self.path = path
        self._text, self.sha256 = self._read_text()
        self._delimiter = self._find_delimiter()
        _, first = next(self._lines(), (0, []))
        if not any(first):
            self.fail("no first line, expected the columns' names.")
        self.has_names = needs_names or not all(_is_number(name or "0") for name in first)
        if self.has_names:
            self._require_names(first)
            self.names = tuple(first)
        else:
            self._require_no_numbering(first)
            self.names = tuple(map(str, range(1, len(first) + 1)))

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
        self, wanted: Collection[int], text_columns: Collection[int]
    ) -> tuple[dict[int, list[str]], dict[int, FloatArray]]:
        """Columns of text, which include those with a word in them, and columns of numbers."""
        parts: dict[int, list[FloatArray]] = {i: [] for i in wanted if i not in text_columns}
        n_samples = 0
        for lines, columns in self._blocks():
            n_samples += len(lines)
            for i in list(parts):
                values = self._parse_numbers(i, lines, columns[i])
                if values is None:
                    del parts[i]
                else:
                    parts[i].append(values)
        if not n_samples:
            self.fail("no lines below the first, expected samples.")
        # Column by column, so that no more than one is held twice.
        numbers = {i: np.concatenate(parts.pop(i)) for i in list(parts)}
        texts: dict[int, list[str]] = {i: [] for i in wanted if i not in numbers}
        # Once more, since only now it is known which columns have text somewhere.
        for lines, columns in self._blocks():
            for i, column in texts.items():
                self._require_no_missing(i, lines, columns[i])
                column += columns[i]
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
        if "_" in "".join(cells):  # Python reads 1_000 as a number, other programs do not
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
        n_columns, lines = len(self.names), self._lines()
        if self.has_names:
            next(lines)
        while block := list(islice(lines, ROWS_AT_A_TIME)):
            for line, cells in block:
                if len(cells) != n_columns:
                    self.fail(f"{len(cells)} values, expected {n_columns} as in the first line.", line)
            numbers, rows = zip(*block, strict=True)
            yield numbers, list(zip(*rows, strict=True))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """Each line that is not empty, with the number of the line that it ends in."""
        stream = io.StringIO(self._text, newline="")
        reader = csv.reader(stream, delimiter=self._delimiter, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                if cells:
                    yield reader.line_num, [cell.strip() for cell in cells]
        except csv.Error as error:
            self.fail(f"not a CSV file: {error}.", reader.line_num)

    def _read_text(self) -> tuple[str, str]:
        """The text and its SHA-256."""
        memory = available_memory()
        with open_content(self.path, "a CSV file") as content:
            raw = content.read_all(None if memory is None else memory // BYTES_PER_BYTE)
        try:
            return raw.decode("utf-8-sig"), content.sha256
        except UnicodeDecodeError as error:
            self.fail(
                "not text in UTF-8, expected a CSV file. If it is in Latin-1, run "
                "iconv -f latin1 -t utf-8 on it first.",
                raw.count(b"\n", 0, error.start) + 1,
            )

    def _find_delimiter(self) -> str:
        end = self._text.find("\n")
        counts = {each: self._text.count(each, 0, None if end < 0 else end) for each in DELIMITERS}
        delimiter = max(counts, key=lambda each: counts[each])
        if counts[delimiter] >= MAX_COLUMNS:
            self.fail(f"{counts[delimiter] + 1:,} columns, expected at most {MAX_COLUMNS:,}.")
        return delimiter


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
