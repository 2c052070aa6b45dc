"""Tables: CSV files and DataFrames, columns of numbers and categories, one of them the class.

`Dataset.columns` declares what columns become, in the order of the inputs: {"name": "size"} is a
number, {"name": "fur", "categories": ["long", "short"]} an input for each category. "missing": "mean"
says that missing values are filled.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from elmlda.core.arrays import FloatArray
from elmlda.datasets.arrays import MISSING_ADVICE, build_dataset, open_arrays
from elmlda.datasets.files import hash_content, read_content
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError
from elmlda.text import as_text, join_words, quote_name

TABLE_SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
INDEX = "Unnamed: 0"
"""What pandas calls a first column without a name."""
DELIMITERS = "\t;|,"
"""The comma comes last: it may stand in numbers and names between the others."""
MISSING = ("", "?", "na", "n/a", "#n/a", "nan", "-nan", "null", "none")
"""What stands for a missing value, in any case of letters; only the first two as a label."""
SPACES = "'\u2019 \u00a0\u202f"
NUMBER = r"[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:[%s]\d{3})+)(?:[%s]\d*)?|[%s]\d+)(?:[eE][+-]?\d+)?"
STYLES = {"plain": ("\0", "."), "comma": (f".{SPACES}", ","), "point": (f",{SPACES}", ".")}
"""How numbers are written: separators of thousands, and the decimal separator."""
FEW = 0.1
"""A smaller share of cells that are no plain numbers are mistakes."""
MANY = 20
"""A column with more different numbers is a quantity, whatever else it has."""
MOST_CATEGORIES = 100
Column = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Table:
    """Cells below the columns' names."""

    where: str
    names: list[str]
    cells: pd.DataFrame
    """Columns of strings or, in a user's DataFrame, of floats."""
    sha256: str = ""
    text: str = ""
    """The file's, to find a cell's line in."""
    delimiter: str = ","
    has_names: bool = True

    def fail(self, what: str, row: int | None = None, advice: str = "", **settings: object) -> NoReturn:
        """Raise an error that names the file and the row's line in it."""
        place = "" if row is None else f", row {self.cells.index[row]}"
        if row is not None and self.text:
            lines = [line for line, cells in _read_lines(self.text, self.delimiter) if any(cells)]
            place = f", line {lines[row + self.has_names]}"
        raise ElmldaError(f"{self.where}{place}: {what}", advice, **settings)

    def require_values(self, place: int, lacks: Any) -> None:
        """Refuse missing values in a column: `lacks` says which rows have one."""
        if len(rows := np.flatnonzero(lacks)):
            fact = f"no value in column {quote_name(self.names[place])}."
            self.fail(fact, rows[0], MISSING_ADVICE, missing="drop", missing_="mean")

    def find(self, column: object) -> int:
        """The place of a column that is given by its name, or by its number from 1."""
        name = str(column)
        if name not in self.names and name.isdecimal() and 1 <= int(name) <= len(self.names):
            return int(name) - 1
        if name not in self.names:
            self.fail(f"no column {quote_name(name)}, but {join_words(self.names)}.")
        return self.names.index(name)

    def keep(self, drop: Any) -> list[int]:
        """Places of the columns that are left, without an index that pandas or R wrote."""
        dropped = {self.find(column) for column in ([drop] if isinstance(drop, str | int) else drop)}
        kept = [i for i, name in enumerate(self.names) if i not in dropped and name != INDEX]
        names = [self.names[place] for place in kept]
        if several := sorted({name for name in names if names.count(name) > 1}):
            self.fail(f"several columns are named {join_words(several)}, expected one each.")
        return kept

    def read_texts(self, place: int, missing: Iterable[str] = MISSING) -> pd.Series[str]:
        """A column's cells that have a value."""
        cells = self.cells.iloc[:, place].reset_index(drop=True).dropna()
        texts = cells.astype(object).map(str).str.strip()
        return texts[~texts.str.lower().isin(missing)]

    @cached_property
    def has_commas(self) -> bool:
        """Whether a column of numbers has decimal commas that can't separate thousands."""
        columns = map(self.read_texts, range(len(self.names)) if self.delimiter != "," else ())
        kinds = (
            [_as_numbers(column, style).isna() for style in ("comma", "point")] for column in columns
        )
        return any(point.any() and not comma.any() for comma, point in kinds)

    def encode(self, place: int, declared: Column | None = None) -> tuple[Column, FloatArray]:
        """A column's declaration, made here unless it is given, and its inputs; NaN is missing."""
        name, column = quote_name(self.names[place]), declared or {"name": self.names[place]}
        if "categories" not in column and (plain := self._read_plain(place)) is not None:
            return column, plain[:, None]
        texts, rows = self.read_texts(place), range(len(self.cells))
        if "categories" not in column:
            numbers = self._read_numbers(texts)
            bad = texts[numbers.isna()]
            if bad.empty:
                return column, numbers.reindex(rows).to_numpy()[:, None]
            if declared or _is_quantity(texts) or texts.nunique() > MOST_CATEGORIES:
                bad = bad if _are_numbers(bad).all() else bad[~_are_numbers(bad)]
                words = "" if declared else f", or at most {MOST_CATEGORIES} words as categories"
                fact = (
                    f"{quote_name(bad.iloc[0])} in column {name}, expected a number like 1234.5{words}."
                )
                advice = "Correct it, empty it if it is missing, or leave the column out with {drop}."
                self.fail(fact, bad.index[0], advice, drop=self.names[place])
            column = {**column, "categories": sorted(set(texts))}
        known = column["categories"]
        if len(new := texts[~texts.isin(known)]):
            fact = f"{quote_name(new.iloc[0])} in column {name}, which no training sample had"
            self.fail(f"{fact}, expected {join_words(known, 'or')}.", new.index[0])
        inputs = (texts.to_numpy()[:, None] == np.array(known, object)).astype(np.float64)
        return column, pd.DataFrame(inputs, texts.index).reindex(rows).to_numpy()

    def _read_plain(self, place: int) -> FloatArray | None:
        """A column of plain numbers alone, fast; None for any other."""
        cells = self.cells.iloc[:, place]
        if cells.dtype == np.float64:
            return cells.to_numpy()
        try:
            numbers = cells.to_numpy(np.float64)
        except ValueError:
            return None
        # Python reads 1_000 as a number, other programs do not.
        is_plain = np.isfinite(numbers).all() and "_" not in "".join(cells) and not self.has_commas
        return numbers if is_plain else None

    def _read_numbers(self, texts: pd.Series[str]) -> pd.Series[float]:
        """Numbers as people write them; NaN for what is none, or could be two."""
        plain, comma, point = (_as_numbers(texts, style) for style in STYLES)
        if comma.notna().all() and (self.has_commas or point.isna().any()):
            return comma
        # A few odd cells are mistakes, and 1,234 between semicolons may be 1.234.
        is_ambiguous = comma.notna().all() and self.delimiter != ","
        are_few = plain.isna().sum() < max(2, FEW * len(texts))
        return plain if are_few or is_ambiguous or point.isna().any() else point


def load_table(
    source: Path | pd.DataFrame, label: object, drop: Any = (), missing: str | None = None
) -> Dataset:
    """Load a CSV file with the columns' names in its first line, a DataFrame, or an .npy file.

    Columns of numbers are inputs. A column of words becomes an input for each of its values, named as
    in `sex=F`: 1 where the sample has that value, else 0. The class may be anything.
    """
    table = _read_frame(source) if isinstance(source, pd.DataFrame) else read_table(source)
    if label is None:
        fact = f"which column has the class: {join_words(table.names)}?"
        table.fail(fact, None, "Name it with {label}.", label=None)
    target, kept = table.find(label), table.keep(drop)
    if target not in kept or len(kept) == 1:
        table.fail(f"{quote_name(table.names[target])} has the class, expected to keep it and inputs.")
    labels, rows = table.read_texts(target, MISSING[:2]), np.arange(len(table.cells))
    if missing != "drop":
        table.require_values(target, ~np.isin(rows, labels.index))
    columns, parts = list[Column](), list[FloatArray]()
    for place in (each for each in kept if each != target):
        column, inputs = table.encode(place)
        if missing is None:
            table.require_values(place, np.isnan(inputs).any(axis=1))
        columns.append({**column, "missing": "mean"} if missing == "mean" else column)
        parts.append(inputs[labels.index])
    where, inputs = f"{table.where}, column {quote_name(table.names[target])}", np.hstack(parts)
    arrays = {f"{table.where}, inputs": inputs, where: labels.to_numpy(str)}
    file = as_text(Path(table.where).name).removesuffix(".gz")
    data = build_dataset(re.sub(r"\.(csv|tsv|npy)$", "", file), arrays, {file: table.sha256}, missing)
    dropped = ", ".join(name for place, name in enumerate(table.names) if place not in kept)
    preparation = {"label": table.names[target], **({"drop": dropped} if dropped else {})}
    preparation |= data.preparation
    return replace(data, feature_names=name_inputs(columns), columns=columns, preparation=preparation)


def encode_samples(path: Path, columns: list[Column] | None, n_inputs: int, drop: Any) -> FloatArray:
    """Read new samples from a CSV file as a model takes them: n_samples × n_inputs.

    Columns are found by name if the file has names and `columns` are declared; else all that are not
    dropped are taken in their order. Missing values are NaN if they are to be filled.
    """
    table = read_table(path, needs_names=False)
    places, wanted = table.keep(drop), columns or [{"name": f"{i + 1}"} for i in range(n_inputs)]
    if table.has_names and columns:
        names = [column["name"] for column in columns]
        if lacking := [name for name in names if name not in table.names]:
            table.fail(f"no column {join_words(lacking, 'or')}, which the model was trained with.")
        places = [table.names.index(name) for name in names]
    if len(places) != len(wanted):
        fact = f"{len(places):,} columns, the model takes {len(wanted):,}."
        table.fail(fact, None, "Use {drop} for columns that are no inputs, such as labels.", drop=None)
    parts = []
    for place, column in zip(places, wanted, strict=True):
        parts.append(table.encode(place, column)[1])
        table.require_values(place, np.isnan(parts[-1]).any(axis=1) & ("missing" not in column))
    return np.hstack(parts)


def name_inputs(columns: Iterable[Column]) -> tuple[str, ...]:
    """Names of the inputs that columns become."""
    kinds = ((column["name"], column.get("categories", [None])) for column in columns)
    return tuple(
        name if each is None else f"{name}={each}" for name, values in kinds for each in values
    )


def read_table(path: Path, needs_names: bool = True) -> Table:
    """Read a CSV file, raw or gzip; a first line of numbers is a sample, unless names are needed."""
    if path.suffix == ".npy":
        with open_arrays(path) as arrays:
            frame = pd.DataFrame(arrays[""])
        return replace(_read_frame(frame.rename(columns=lambda i: i + 1)), where=str(path))
    content = read_content(path)
    try:
        is_utf16 = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        advice = "If it is in Latin-1, run iconv -f latin1 -t utf-8 on it first."
        raise ElmldaError(f"{path}, line {line}: not text in UTF-8. {advice}") from error
    if excel := re.match(r'"?sep=([,;\t|])"?\r?\n', text, re.IGNORECASE):
        text = "\n" + text[excel.end() :]
    delimiter = excel[1] if excel else _find_delimiter(text)
    options: dict[str, Any] = {"header": None, "dtype": object, "na_filter": False}
    try:
        cells = pd.read_csv(io.StringIO(text), sep=delimiter, skipinitialspace=True, **options)
    except ValueError as error:  # of pandas: no columns, or more cells in a line than in the first
        reason = " ".join(str(error).removeprefix("Error tokenizing data. C error: ").split())
        raise ElmldaError(f"{path}: not a CSV file: {reason}.") from None
    cells = cells[(cells != "").any(axis=1)]
    first = cells.iloc[0].str.strip() if len(cells) else pd.Series(dtype=object)
    has_names = bool(_as_numbers(first.replace("", "0"), "plain").isna().any())
    if needs_names and not has_names:
        raise ElmldaError(
            f"{path}: the first line has only numbers, expected the columns' names there."
        )
    names = [name or f"Unnamed: {i}" if has_names else f"{i + 1}" for i, name in enumerate(first)]
    rows = cells.iloc[1:] if has_names else cells
    if rows.empty:
        raise ElmldaError(f"{path}: no lines below the first, expected samples.")
    return Table(str(path), names, rows, hash_content(content), text, delimiter, has_names)


def _read_frame(frame: pd.DataFrame) -> Table:
    """A DataFrame as a table: numbers as they are, anything else as it would be in a CSV file."""
    cells = {}
    for i, (_, column) in enumerate(frame.items()):
        is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        texts = column.astype(object).where(column.notna(), "").map(str)
        cells[i] = column.astype(np.float64) if is_number else texts
    sha256 = hash_content(frame.to_csv(index=False).encode())
    return Table("data", [*map(str, frame.columns)], pd.DataFrame(cells), sha256)


def _read_lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each line, with the number of the line that they end in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    for cells in reader:
        yield reader.line_num, [cell.strip() for cell in cells]


def _find_delimiter(text: str) -> str:
    """The delimiter that cuts each of the first lines into as many cells, or the header into most."""
    counts = {}
    for delimiter in DELIMITERS:
        lines = (len(cells) for _, cells in _read_lines(text, delimiter) if any(cells))
        counts[delimiter] = list(islice(lines, 20)) or [0]
    even = [each for each, found in counts.items() if found[0] > 1 and len(set(found)) == 1]
    return even[0] if even else max(reversed(DELIMITERS), key=lambda each: counts[each][0])


def _as_numbers(texts: pd.Series[str], style: str) -> pd.Series[float]:
    """Numbers in a style; NaN for anything else."""
    group, decimal = STYLES[style]
    matching = texts[texts.str.fullmatch(NUMBER % (group, decimal, decimal))]
    plain = matching.str.replace(f"[{group}]", "", regex=True).str.replace(",", ".")
    return plain.astype(np.float64).replace([np.inf, -np.inf], np.nan).reindex(texts.index)


def _are_numbers(texts: pd.Series[str]) -> pd.Series[bool]:
    """Whether each is a number in one style or another."""
    return _as_numbers(texts, "comma").notna() | _as_numbers(texts, "point").notna()


def _is_quantity(texts: pd.Series[str]) -> bool:
    """Whether a column with other cells, too, is meant to have numbers, not categories."""
    numbers = texts[_are_numbers(texts)]
    is_measured = 2 * len(numbers) > len(texts) and 2 * numbers.nunique() > len(numbers)
    return len(numbers) >= (1 - FEW) * len(texts) or numbers.nunique() > MANY or is_measured
