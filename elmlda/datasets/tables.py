"""Tables: CSV files and DataFrames, columns of numbers and of words, one of them the class.

`Dataset.columns` declares what the columns became, for samples that come later: {"name": "size"} is a
number, {"name": "fur", "categories": ["long", "short"]} an input for each category, {"name": "kind",
"label": True} the class. "missing": "mean" says that missing values are filled.
"""

from __future__ import annotations

import codecs
import csv
import io
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
from elmlda.datasets.arrays import MISSING_ADVICE, build_dataset, hash_content, read_content
from elmlda.datasets.split import Dataset
from elmlda.errors import ElmldaError, join_words, printable, quote_name

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
DELIMITERS = "\t;|,"
"""The comma comes last: it may stand in numbers and names between the others."""
END = "\0end of the file"
NO_LABEL = ("", "?")
NO_INPUT = (*NO_LABEL, "na", "n/a", "#n/a", "nan", "-nan", "null", "none")
"""Cells without a value, in any case of letters. A class may be called NA: labels have fewer."""
SPACES = "'\u2019 \u00a0\u202f"
NUMBER = r"[+-]?(?:(?:\d+|[1-9]\d{0,2}(?:[%s]\d{3})+)(?:[%s]\d*)?|[%s]\d+)(?:[eE][+-]?\d+)?"
STYLES = {"plain": ("\0", "."), "comma": (f".{SPACES}", ","), "point": (f",{SPACES}", ".")}
"""How numbers are written: separators of thousands, and the decimal separator."""
FEW = 0.1
"""If a smaller share of a column's cells is odd, they are mistakes."""
MANY = 20
"""A column with more different numbers is a quantity, whatever else is in it."""
MOST_CATEGORIES = 100
Column = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Table:
    """Cells below the columns' names, all as texts."""

    where: str
    cells: pd.DataFrame
    rows: Any
    """What each row is called: its line in the file, or its index in a DataFrame."""
    sha256: str = ""
    delimiter: str = ","
    has_decimal_commas: bool = False
    """Whether a column has numbers like 1,5: commas that can't separate thousands."""
    has_names: bool = True
    """Whether the names are those of the file, or numbers from 1."""
    unit: str = "line"
    """What `rows` are: line or row."""

    def fail(self, what: str, row: int | None = None, advice: str = "", **settings: object) -> NoReturn:
        """Raise an error that names the file and the line."""
        place = "" if row is None else f", {self.unit} {self.rows[row]}"
        raise ElmldaError(f"{self.where}{place}: {what}", advice, **settings)

    def require_values(self, name: str, lacks: Any, advice: str = MISSING_ADVICE) -> None:
        """Refuse missing values in a column: `lacks` says which rows have one."""
        if len(rows := np.flatnonzero(lacks)):
            fact = f"no value in column {quote_name(name)}."
            self.fail(fact, int(rows[0]), advice, missing="drop", missing_="mean")

    def find(self, column: object) -> str:
        """The name of a column that is given by its name, or by its number from 1."""
        names: list[str] = self.cells.columns.tolist()
        name = str(column)
        if name not in names and name.isdecimal() and 1 <= int(name) <= len(names):
            return names[int(name) - 1]
        if name not in names:
            self.fail(f"no column {quote_name(name)}, but {join_words(names)}.")
        return name

    def keep(self, drop: Any = ()) -> Table:
        """The table without these columns.

        An index that pandas or R wrote, and columns without a name and without any value, go as well.
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

    def encode(self, name: str, declared: Column | None = None) -> tuple[Column, FloatArray]:
        """A column's declaration, made here unless it is given, and its inputs.

        The inputs are n_rows × 1 or, of words, n_rows × n_categories; NaN is missing.
        """
        column = declared or {"name": name}
        if "categories" in column:
            return column, self._encode_words(name, column["categories"])
        plain = _convert(self.cells[name])
        if plain is not None and not self.has_decimal_commas:
            return column, plain[:, None]
        texts = read_texts(self.cells[name])
        numbers = self._read_numbers(texts)
        if numbers.notna().all():
            return column, numbers.reindex(self.cells.index).to_numpy()[:, None]
        is_number = _parse(texts, "comma").notna() | _parse(texts, "point").notna()
        # Words that hardly repeat are names, dates or numbers with units.
        most = min(MOST_CATEGORIES, max(MANY, len(texts) // 2))
        if declared or _is_quantity(texts, is_number) or texts.nunique() > most:
            bad = texts[numbers.isna()] if is_number.all() else texts[~is_number]
            fact = f"{quote_name(bad.iloc[0])} in column {quote_name(name)}"
            fact += ", expected a number like 1234.5"
            advice = "Correct it, or empty it if it is missing."
            if is_number.all():
                fact += ": its comma, point or space can be read in two ways"
            elif not declared:
                fact += f", or at most {most} words as categories"
                advice = "Correct it, empty it if it is missing, or leave the column out with {drop}."
            self.fail(f"{fact}.", bad.index[0], advice, drop=name)
        column = {**column, "categories": sorted(set(texts))}
        return column, self._encode_words(name, column["categories"])

    def _read_numbers(self, texts: pd.Series[str]) -> pd.Series[float]:
        """Numbers as people write them; NaN for what is none, or could be two."""
        plain, comma, point = (_parse(texts, style) for style in STYLES)
        if comma.notna().all() and (self.has_decimal_commas or point.isna().any()):
            return comma
        is_ambiguous = comma.notna().all() and self.delimiter != ","  # 1,234 may be 1.234
        are_mistakes = plain.isna().sum() < max(2, FEW * len(texts))
        return plain if is_ambiguous or are_mistakes or point.isna().any() else point

    def _encode_words(self, name: str, categories: list[str]) -> FloatArray:
        """1 for the category that a cell has, else 0: n_rows × n_categories."""
        texts = read_texts(self.cells[name])
        if len(new := texts[~texts.isin(categories)]):
            column = f"column {quote_name(name)}"
            fact = f"{quote_name(new.iloc[0])} in {column}, which no training sample had"
            self.fail(f"{fact}, expected {join_words(categories, 'or')}.", new.index[0])
        inputs = (texts.to_numpy()[:, None] == np.array(categories, object)).astype(np.float64)
        return pd.DataFrame(inputs, texts.index).reindex(self.cells.index).to_numpy()


def load_table(
    source: Path | pd.DataFrame, label: object, drop: Any = (), missing: str | None = None
) -> Dataset:
    """Load a CSV file with the columns' names in its first line, or a DataFrame.

    Columns of numbers are inputs. A column of words becomes an input for each of its values, named as
    in `sex=F`: 1 where the sample has that value, else 0. The class may be anything.
    """
    whole = read_table(source) if isinstance(source, Path) else _read_frame(source)
    if not whole.has_names:
        whole.fail("the first line has only numbers, expected the columns' names there.")
    if label is None:
        fact = f"which column has the class: {join_words(whole.cells)}?"
        whole.fail(fact, None, "Name it with {label}.", label=None)
    target, table = whole.find(label), whole.keep(drop)
    if target not in table.cells or table.cells.shape[1] == 1:
        table.fail(f"{quote_name(target)} has the class, expected to keep it and inputs.")
    labels = read_texts(table.cells[target], NO_LABEL)
    if missing != "drop":
        lacks = ~table.cells.index.isin(labels.index)
        table.require_values(target, lacks, "Fill it in, or use {missing}.")
    columns, parts = list[Column](), list[FloatArray]()
    for name in table.cells.columns.drop(target):
        column, inputs = table.encode(name)
        if missing is None:
            table.require_values(name, np.isnan(inputs).any(axis=1))
        columns.append({**column, "missing": "mean"} if missing == "mean" else column)
        parts.append(inputs[labels.index])
    where = f"{table.where}, column {quote_name(target)}"
    arrays = {f"{table.where}, inputs": np.hstack(parts), where: labels.to_numpy(str)}
    file = printable(Path(table.where).name).removesuffix(".gz")
    data = build_dataset(Path(file).stem, arrays, {file: table.sha256}, missing)
    dropped = ", ".join(whole.cells.columns[~whole.cells.columns.isin(table.cells)])
    return replace(
        data,
        columns=[*columns, {"name": target, "label": True}],
        preparation={"label": target, **({"drop": dropped} if dropped else {}), **data.preparation},
    )


def read_table(path: Path) -> Table:
    """Read a CSV file, raw or gzip; a first line of numbers alone is a sample."""
    content = read_content(path)
    is_utf16 = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    try:
        text = content.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        advice = "Save it as UTF-8, in Excel as 'CSV UTF-8', or use iconv -f latin1 -t utf-8."
        raise ElmldaError(f"{path}, line {line}: not text in UTF-8. {advice}") from error
    if excel := re.match(r'"?sep=([,;\t|])"?\r?\n', text, re.IGNORECASE):
        text = "\n" + text[excel.end() :]
    delimiter = excel[1] if excel else _find_delimiter(text)
    try:
        rows = {line: cells for line, cells in _read_lines(text, delimiter) if any(cells)}
    except EOFError as error:
        fact = f"{path}, line {error}: a quote is opened here that is never closed."
        raise ElmldaError(fact) from error
    if not rows:
        raise ElmldaError(f"{path}: empty, expected the columns' names and samples.")
    header = next(iter(rows.values()))
    for line, cells in rows.items():
        if len(cells) > len(header):
            fact = f"{len(cells):,} cells, expected {len(header):,} as in the line of names"
            raise ElmldaError(f"{path}, line {line}: {fact}.")
        cells += [""] * (len(header) - len(cells))
    has_names = bool(_parse(pd.Series(header, dtype=object).replace("", "0"), "plain").isna().any())
    names = [name or f"Unnamed: {i}" if has_names else f"{i + 1}" for i, name in enumerate(header)]
    table = pd.DataFrame([*rows.values()][has_names:], columns=names, dtype=object)
    if table.empty:
        raise ElmldaError(f"{path}: no lines below the first, expected samples.")
    lines, sha256 = np.array([*rows])[has_names:], hash_content(content)
    has_commas = delimiter != "," and any(_has_decimal_commas(each) for _, each in table.items())
    return Table(str(path), table, lines, sha256, delimiter, has_commas, has_names)


def _read_frame(frame: pd.DataFrame) -> Table:
    """A DataFrame's cells as pandas writes them to a CSV file."""
    if frame.empty:
        raise ElmldaError("data: an empty DataFrame, expected columns and samples.")
    cells = pd.DataFrame({i: _as_texts(column) for i, (_, column) in enumerate(frame.items())})
    cells.columns = pd.Index([*map(str, frame)])
    sha256 = hash_content(frame.to_csv(index=False).encode())
    return Table("data", cells.reset_index(drop=True), frame.index, sha256, unit="row")


def _as_texts(column: pd.Series[Any]) -> pd.Series[str]:
    return column.astype(object).where(column.notna(), "").map(str)


def _read_lines(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each line, with the number of the line that they end in.

    A quote that is never closed would swallow the line `END`: EOFError has the line that it is in.
    """
    longest = len(text) + len(END)  # of a cell that has no end
    csv.field_size_limit(max(longest, csv.field_size_limit()))
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
    """The delimiter that cuts each of the first lines into as many cells, or the header into most."""
    counts = dict[str, list[int]]()
    for delimiter in DELIMITERS:
        lines = (len(cells) for _, cells in _read_lines(text, delimiter) if any(cells))
        counts[delimiter] = []
        with suppress(EOFError):
            counts[delimiter].extend(islice(lines, 20))
    even = [each for each, found in counts.items() if found and found[0] > 1 and len({*found}) == 1]
    return even[0] if even else max(reversed(DELIMITERS), key=lambda each: counts[each][:1])


def _convert(cells: pd.Series[str]) -> FloatArray | None:
    """A whole column of plain numbers, fast; None if anything else is in it."""
    try:
        numbers = cells.to_numpy(np.float64)
    except ValueError:
        return None
    # Python reads 1_000, inf and nan as numbers, too.
    return numbers if np.isfinite(numbers).all() and "_" not in "".join(cells) else None


def read_texts(cells: pd.Series[str], missing: Iterable[str] = NO_INPUT) -> pd.Series[str]:
    """The cells of a column that have a value, by number of the row."""
    texts = cells.str.strip()
    return texts[~texts.str.lower().isin(missing)]


def _has_decimal_commas(cells: pd.Series[str]) -> bool:
    """Whether a column has numbers like 1,5: commas that can't separate thousands."""
    if _convert(cells) is not None:
        return False
    texts = read_texts(cells)
    return bool(_parse(texts, "comma").notna().all() and _parse(texts, "point").isna().any())


def _parse(texts: pd.Series[str], style: str) -> pd.Series[float]:
    """Numbers in a style; NaN for anything else."""
    group, decimal = STYLES[style]
    matching = texts[texts.str.fullmatch(NUMBER % (group, decimal, decimal))]
    plain = matching.str.replace(f"[{group}]", "", regex=True).str.replace(",", ".")
    return plain.astype(np.float64).replace([np.inf, -np.inf], np.nan).reindex(texts.index)


def _is_quantity(texts: pd.Series[str], is_number: pd.Series[bool]) -> bool:
    """Whether a column with other cells, too, is meant to have numbers, not categories."""
    n_different = texts[is_number].nunique()
    return bool(is_number.mean() >= 1 - FEW or n_different > min(MANY, len(texts) / 2))
