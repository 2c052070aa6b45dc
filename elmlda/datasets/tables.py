"""Tables: CSV files and DataFrames with columns of numbers and of words, one of them the class."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from elmlda.core import FloatArray
from elmlda.datasets import expand_path
from elmlda.datasets.arrays import (
    MISSING_ADVICE,
    MISSING_LABEL_ADVICE,
    build_dataset,
    read_content,
)
from elmlda.datasets.split import Dataset
from elmlda.errors import LONGEST_NAME, ElmldaError, join_words, printable, quote_name

TableSource = str | os.PathLike[str] | pd.DataFrame
DELIMITERS = "\t;|,"
"""The comma comes last, because commas may stand in numbers and names between the others."""
END = "\0end of the file"
NO_LABEL = ("", "?")
NO_INPUT = (*NO_LABEL, "na", "n/a", "#n/a", "nan", "-nan", "null", "none")
"""Cells that count as missing, in lower case. Labels have fewer, because a class may be called NA."""
SPACES = "'\u2019 \u00a0\u202f"
NUMBER = r"[+−-]?(?:(?:\d+|[1-9]\d{0,2}(?:[%s]\d{3})+)(?:[%s]\d*)?|[%s]\d+)(?:[eE][+−-]?\d+)?"
STYLES = {"plain": ("\0", "."), "comma": (f".{SPACES}", ","), "point": (f",{SPACES}", ".")}
"""Styles of numbers: separators of thousands, and the decimal separator."""
FEW = 0.1
"""If a smaller share of a column's cells is not a number, these cells are mistakes."""
MANY = 20
"""A column with more different numbers is a quantity, whatever the other cells are."""
MOST_CATEGORIES = 100
QUOTE, ODD = '"', re.compile(r'[",\r\n]|^\s|^$')
"""A column's name with such characters is quoted in a list of names."""


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of a table as stripped texts, by column."""

    where: str
    cells: pd.DataFrame
    rows: pd.Index[Any]
    """Name of each row in messages: the line in a file, or the index in a DataFrame."""
    sha256: str
    comma: str = "thousands"
    """Meaning of commas in numbers: "thousands", "decimal", or "either" if the file does not tell."""
    has_names: bool = True
    """Whether the columns have names, or numbers from 1."""

    def fail(self, what: str, row: int | None = None, advice: str = "", **settings: object) -> NoReturn:
        """Raise an error that names the file and the line."""
        place = "" if row is None else f", {self.rows.name} {self.rows[row]}"
        raise ElmldaError(f"{self.where}{place}: {what}", advice, **settings)

    def require_values(self, name: str, is_missing: Any, advice: str = MISSING_ADVICE) -> None:
        """Refuse missing values in a column; `is_missing` has an element for each row."""
        if len(rows := np.flatnonzero(is_missing)):
            fact = f"no value in column {quote_name(name)}."
            self.fail(fact, int(rows[0]), advice, missing="drop", missing_="mean")

    def find(self, column: object) -> str:
        """Return the name of a column, for its name or its number from 1."""
        names: list[str] = self.cells.columns.tolist()
        name = str(column)
        if name not in names and name.isdecimal() and 1 <= int(name) <= len(names):
            return names[int(name) - 1]
        if name not in names:
            self.fail(f"no column {quote_name(name)}, but {join_words(names)}.")
        return name

    def leave_out(self, drop: Any) -> Table:
        """Return the table without these columns.

        An index written by pandas or R is left out too, and so are columns without name and values.
        """
        unnamed = {
            name
            for name, cells in self.cells.items()
            if name == "Unnamed: 0" or (str(name).startswith("Unnamed: ") and (cells == "").all())
        }
        kept = self.cells.loc[:, ~self.cells.columns.isin(unnamed)]
        if several := {*kept.columns[kept.columns.duplicated()]}:
            self.fail(f"several columns are named {join_words(sorted(several))}, expected one each.")
        dropped = [self.find(column) for column in ([drop] if isinstance(drop, str | int) else drop)]
        return replace(self, cells=kept.drop(columns=dropped, errors="ignore"))

    def encode(self, name: str) -> pd.DataFrame:
        """Return a column's inputs, n_rows × 1 for numbers, n_rows × n_categories for words.

        The columns are the names of the features. NaN is a missing value.
        """
        cells = self.cells[name]
        plain = _convert(cells)
        if plain is not None and self.comma != "decimal":
            return pd.DataFrame({name: plain})
        texts, styles = _parse_styles(cells)
        numbers = self._choose_numbers(styles)
        if numbers.notna().all():
            return numbers.reindex(cells.index).to_frame(name)
        is_number = styles.notna().any(axis=1)
        # Words that hardly repeat are names, dates or numbers with units.
        most = min(MOST_CATEGORIES, max(MANY, len(texts) // 2))
        n_numbers = texts[is_number].nunique()
        is_quantity = is_number.mean() >= 1 - FEW or n_numbers > min(MANY, len(texts) / 2)
        if is_quantity or texts.nunique() > most:
            bad, reason = texts[~is_number], f"or at most {most} words as categories"
            if is_number.all():
                bad, reason = texts[numbers.isna()], "which can be read in one way only"
            fact = f"{quote_name(bad.iloc[0])} in column {quote_name(name)}"
            advice = "Correct it, empty it if it is missing, or leave the column out with {drop}."
            fact += f", expected a number like 1234.5, {reason}."
            self.fail(fact, bad.index[0], advice, drop=name)
        words = pd.get_dummies(texts, prefix=name, prefix_sep="=", dtype=np.float64)
        return words.reindex(cells.index)

    def describe(self, label: object = None, drop: Any = ()) -> pd.DataFrame:
        """Describe each column, even if the table cannot be loaded as it is.

        Returns
        -------
        columns : a row for each column, by name, with its `kind` (numbers, words, empty, class, left
            out or unclear), the number of `missing` values, `values`, which are the range of the
            numbers or the words, and `problem`, an ElmldaError that says why a column is unclear
        """
        target = None if label is None else self.find(label)
        inputs, rows = self.leave_out(drop).cells.columns, {}
        for name in map(str, self.cells):
            cells = self.cells[name]
            is_missing = cells.str.lower().isin(NO_LABEL if name == target else NO_INPUT)
            kind, words, problem = "left out", list[str](), None
            if name == target:
                kind, words = "class", sorted(cells[~is_missing].unique())
            elif name in inputs:
                kind, words, problem = self._describe_input(name)
            values = printable(join_words(words), LONGEST_NAME) if words else ""
            rows[name] = [kind, is_missing.sum(), values, problem]
        names = ["kind", "missing", "values", "problem"]
        return pd.DataFrame.from_dict(rows, orient="index", columns=names)

    def _describe_input(self, name: str) -> tuple[str, list[str], ElmldaError | None]:
        """Return the kind of a column, its range or words, and what keeps it from being an input."""
        try:
            inputs = self.encode(name)
        except ElmldaError as error:
            return "unclear", [], error
        if [*inputs] != [name]:
            return "words", [str(feature).removeprefix(f"{name}=") for feature in inputs], None
        if inputs[name].isna().all():
            return "empty", [], None
        return "numbers", [f"{inputs[name].min():g} to {inputs[name].max():g}"], None

    def _choose_numbers(self, styles: pd.DataFrame) -> pd.Series[float]:
        """Return numbers in the style of the column; NaN for other cells and ambiguous numbers."""
        n_odd = styles.isna().sum()
        if not n_odd["comma"] and (self.comma == "decimal" or n_odd["point"]):
            return styles["comma"]
        # 1,234 may be 1.234; 1 234 is the same in both styles.
        is_ambiguous = self.comma == "either" and not n_odd["comma"]
        is_ambiguous &= not styles["comma"].equals(styles["point"])
        are_mistakes = n_odd["plain"] < max(2, FEW * len(styles))
        return styles["plain" if is_ambiguous or are_mistakes or n_odd["point"] else "point"]


def load_table(
    source: TableSource,
    label: object,
    drop: Any = (),
    missing: str | None = None,
    header: bool | None = None,
) -> Dataset:
    """Load a CSV file or a DataFrame; without names in a file's first line, columns are numbered.

    A column of numbers becomes an input. A column of words becomes an input for each word, named like
    `sex=F`: 1 for samples with that word, otherwise 0. The class may be anything.
    """
    whole = read_table(source, header)
    if label is None:
        fact = f"which column has the class: {join_words(whole.cells)}?"
        whole.fail(fact, None, "Name it with {label}.", label=None)
    target, table = whole.find(label), whole.leave_out(drop)
    if target not in table.cells or table.cells.shape[1] == 1:
        table.fail(f"{quote_name(target)} has the class, expected to keep it and inputs.")
    labels = table.cells[target]
    has_label = ~labels.isin(NO_LABEL).to_numpy()
    if missing != "drop" or not has_label.any():
        table.require_values(target, ~has_label, MISSING_LABEL_ADVICE)
    inputs = {name: table.encode(name) for name in table.cells.columns.drop(target)}
    for name, encoded in inputs.items():
        if missing is None:
            table.require_values(name, encoded.isna().any(axis=1))
    features = pd.concat(inputs.values(), axis=1)
    columns = [name for name, encoded in inputs.items() for _ in encoded]
    arrays = {
        f"{table.where}, inputs": features[has_label].to_numpy(),
        f"{table.where}, column {quote_name(target)}": labels[has_label].to_numpy(str),
    }
    file = printable(Path(table.where).name).removesuffix(".gz")
    dataset = build_dataset(Path(file).stem, arrays, {file: table.sha256}, missing, columns)
    preparation = {"label": target}
    if not whole.has_names:
        preparation["header"] = "no"
    if dropped := join_names(whole.cells.columns[~whole.cells.columns.isin(table.cells)]):
        preparation["drop"] = dropped
    return replace(
        dataset,
        feature_names=tuple(features.columns),
        preparation={**preparation, **dataset.preparation},
    )


def join_names(names: Iterable[str]) -> str:
    """Join columns' names with commas; names with commas or quotes are quoted as in a CSV file."""
    quoted = (f'"{name.replace(QUOTE, 2 * QUOTE)}"' if ODD.search(name) else name for name in names)
    return ", ".join(quoted)


def split_names(text: str) -> list[str]:
    """Return the names that `join_names` has joined."""
    return next(csv.reader([text], skipinitialspace=True), [])


def read_table(source: TableSource, header: bool | None = None) -> Table:
    """Read a CSV file, raw or gzip, or a DataFrame; `header` says whether the first line has names."""
    if isinstance(source, pd.DataFrame):
        return _read_frame(source)
    path = expand_path(source)
    content = read_content(path)
    bad = content.find(b"\0")  # as in UTF-16
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = error.start
    if bad >= 0:
        line = content.count(b"\n", 0, bad) + 1
        advice = "Save it as UTF-8, in Excel as 'CSV UTF-8', or use iconv -f latin1 -t utf-8."
        raise ElmldaError(f"{path}, line {line}: not text in UTF-8. {advice}")
    delimiter = _find_delimiter(text)
    try:
        rows = {line: cells for line, cells in _read_lines(text, delimiter) if any(cells)}
    except EOFError as error:
        fact = f"{path}, line {error}: a quote is opened here that is never closed."
        raise ElmldaError(fact) from error
    if not rows:
        raise ElmldaError(f"{path}: empty, expected the columns' names and samples.")
    first, *samples = rows.values()
    for line, cells in rows.items():
        if len(cells) > len(first):
            fact = f"{len(cells):,} cells, expected {len(first):,} as in the first line"
            raise ElmldaError(f"{path}, line {line}: {fact}.")
        cells += [""] * (len(first) - len(cells))
    table = pd.DataFrame([first, *samples], dtype=object)
    has_names = (not samples or _has_names(table)) if header is None else header
    if has_names is None:
        fact = f"{path}, line {next(iter(rows))}: may hold the columns' names or a sample."
        raise ElmldaError(fact, "Use {header} or {header_}.", header=True, header_=False)
    if has_names and not samples:
        raise ElmldaError(f"{path}: no lines below the first, expected samples.")
    names = first if has_names else [str(i + 1) if table[i].any() else "" for i in range(len(first))]
    names = [name or f"Unnamed: {i}" for i, name in enumerate(names)]
    table = table[int(has_names) :].reset_index(drop=True).set_axis(names, axis=1)
    lines = pd.Index([*rows][has_names:], name="line")
    comma = "thousands"
    if delimiter != ",":
        has_decimal_commas = any(_has_decimal_commas(cells) for _, cells in table.items())
        comma = "decimal" if has_decimal_commas else "either"
    sha256 = hashlib.sha256(content).hexdigest()
    return Table(str(path), table, lines, sha256, comma, has_names)


def _has_names(table: pd.DataFrame) -> bool | None:
    """Return whether the first line holds the columns' names; None if the file does not tell.

    Words that also occur below, in the same column, are categories of a sample, other words are names.
    Numbers may be names if they count up, as in `0,1,2`.
    """
    texts, styles = _parse_styles(table.iloc[0])
    numbers = styles.max(axis=1).dropna()
    recurs = [text in set(table[i][1:]) for i, text in texts.items() if i not in numbers]
    if all(recurs):
        return False if recurs or not numbers.is_unique else None
    counts_up = len(numbers) != 1 and (numbers.diff()[1:] == 1).all()  # one number tells nothing
    return True if counts_up and not any(recurs) else None


def _read_frame(frame: pd.DataFrame) -> Table:
    """Return a DataFrame's cells as pandas writes them to a CSV file."""
    if frame.empty:
        raise ElmldaError("data: an empty DataFrame, expected columns and samples.")
    cells = frame.astype(object).where(frame.notna(), "").map(lambda cell: str(cell).strip())
    cells = cells.astype(object).set_axis([*map(str, frame)], axis=1).reset_index(drop=True)
    sha256 = hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()
    return Table("data", cells, frame.index.to_flat_index().rename("row"), sha256)


def _read_lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each line, with the number of the line in which they end.

    A quote that is never closed would swallow the line `END`: EOFError holds the line of the quote.
    """
    csv.field_size_limit(max(len(text) + len(END), csv.field_size_limit()))
    lines = chain(io.StringIO(text, newline=""), [END])
    reader, start = csv.reader(lines, delimiter=delimiter, skipinitialspace=True), 1
    for cells in reader:
        if cells and cells[-1].endswith(END):
            if cells == [END]:
                return
            raise EOFError(start)
        yield reader.line_num, [cell.strip() for cell in cells]
        start = reader.line_num + 1


def _find_delimiter(text: str) -> str:
    """Return the delimiter that gives the first lines equally many cells, or the header the most."""
    counts = dict[str, list[int]]()
    for delimiter in DELIMITERS:
        lines = (len(cells) for _, cells in _read_lines(text, delimiter) if any(cells))
        counts[delimiter] = []
        with suppress(EOFError):
            counts[delimiter].extend(islice(lines, 20))
    even = [key for key, sizes in counts.items() if sizes and sizes[0] > 1 and len({*sizes}) == 1]
    return even[0] if even else max(reversed(DELIMITERS), key=lambda key: counts[key][:1])


def _convert(cells: pd.Series[str]) -> FloatArray | None:
    """Convert a whole column of plain numbers, fast; return None if it has anything else."""
    try:
        numbers = cells.to_numpy(np.float64)
    except ValueError:
        return None
    # Python also reads 1_000, inf and nan as numbers.
    return numbers if np.isfinite(numbers).all() and "_" not in "".join(cells) else None


def _parse_styles(cells: pd.Series[str]) -> tuple[pd.Series[str], pd.DataFrame]:
    """Return the cells that have a value, and their numbers in each style; NaN for anything else."""
    texts = cells[~cells.str.lower().isin(NO_INPUT)]
    styles = pd.DataFrame(index=texts.index)
    for style, (group, decimal) in STYLES.items():
        matching = texts[texts.str.fullmatch(NUMBER % (group, decimal, decimal))]
        plain = matching.str.replace(f"[{group}]", "", regex=True)
        plain = plain.str.replace(",", ".").str.replace("−", "-")
        styles[style] = plain.astype(np.float64).replace([np.inf, -np.inf], np.nan)
    return texts, styles


def _has_decimal_commas(cells: pd.Series[str]) -> bool:
    """Return whether a column has numbers like 1,5: commas that cannot separate thousands."""
    if _convert(cells) is not None:
        return False
    is_number = _parse_styles(cells)[1].notna()
    return bool(is_number["comma"].all() and not is_number["point"].all())
