"""New samples for a model, from tables, arrays and IDX files, and their labels where a file has them."""

import gzip
from types import SimpleNamespace

import numpy as np
import pytest
from idx_files import idx_bytes
from refusals import refusal_of, refusal_of_file

from elmlda.datasets import load_dataset
from elmlda.networks.classify import UNKNOWN, classify

VALUES = np.arange(12.0).reshape(3, 4)


def make_model(n_inputs=4, classes=("a", "b"), image_shape=None, columns=None):
    """A model that answers with the samples as it was given them."""
    return SimpleNamespace(
        recipe=SimpleNamespace(n_inputs=n_inputs, image_shape=image_shape),
        classes=tuple(map(str, classes)),
        columns=columns,
        largest_input=None,
        values=lambda inputs: inputs,
    )


FOUR = make_model()


# Arrays and IDX files


@pytest.mark.parametrize("kind", ["npy", "npz", "idx", "idx.gz", "csv", "txt", "tsv"])
def test_the_same_samples_from_any_file(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, VALUES)
    elif kind == "npz":
        np.savez(path, x=VALUES)
    elif kind.startswith("idx"):
        content = idx_bytes(VALUES, "f8")
        path.write_bytes(gzip.compress(content) if kind.endswith("gz") else content)
    else:
        np.savetxt(path, VALUES, delimiter="\t" if kind == "tsv" else ",")
    answers = classify(path, FOUR)
    np.testing.assert_array_equal(answers.values, VALUES)
    assert answers.truth is None
    is_table = kind in ("csv", "txt", "tsv")
    assert answers.numbers.tolist() == ([1, 2, 3] if is_table else [0, 1, 2])
    assert answers.name(1) == (f"{path}:2" if is_table else f"{path}[1]")


@pytest.mark.parametrize(
    ("arrays", "truth"),
    [
        ({"x": VALUES, "y": ["b", "a", "b"]}, [1, 0, 1]),
        ({"X": VALUES, "y": [["b"], ["a"], ["c"]]}, [1, 0, UNKNOWN]),
        ({"x": VALUES}, None),
        ({"x_train": VALUES[:1], "x_test": VALUES, "y_test": ["a", "a", "b"]}, [0, 0, 1]),
    ],
)
def test_labels_beside_arrays(tmp_path, arrays, truth):
    np.savez(tmp_path / "x.npz", **arrays)
    answers = classify(tmp_path / "x.npz", FOUR)
    np.testing.assert_array_equal(answers.values, VALUES)
    assert (answers.truth if truth is None else answers.truth.tolist()) == truth


def test_a_folder_of_idx_files_is_its_test_part(clouds):
    data = load_dataset(clouds)
    answers = classify(clouds, make_model(9, data.classes, (3, 3)))
    np.testing.assert_array_equal(answers.values, data.test.inputs)
    np.testing.assert_array_equal(answers.truth, data.test.labels)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (VALUES[:, :3], ": 3 × 3 of float64, the model takes samples of 4 numbers."),
        (VALUES[:0], ": 0 × 4 of float64, the model takes"),
        (VALUES.astype(str), ": 3 × 4 of <U32, the model takes"),
        (np.float64(3), ":  of float64, the model takes"),
        (np.where(VALUES == 6, np.nan, VALUES), "[1]: a value is missing, NaN or infinite."),
    ],
)
def test_samples_that_do_not_fit(tmp_path, values, message):
    np.save(tmp_path / "x.npy", values)
    assert message in refusal_of(classify, tmp_path / "x.npy", FOUR)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": VALUES}, "no x; expected x or x_test."),
        ({"x": VALUES, "y": [1, 2]}, "3 samples, but 2 labels."),
    ],
)
def test_archives_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    assert message in refusal_of_file(classify, tmp_path / "x.npz", FOUR)


@pytest.mark.parametrize("name", ["x", "x.npy", "x.csv", "x.png"])
@pytest.mark.parametrize("is_there", [False, True])
def test_what_is_no_file(tmp_path, name, is_there):
    if is_there:
        (tmp_path / name).mkdir()
    assert refusal_of_file(classify, tmp_path / name, make_model(784, image_shape=(28, 28)))


# Tables


@pytest.fixture
def pets(tmp_path):
    """A model that was trained on a table, and a function that writes another one."""
    (tmp_path / "pets.csv").write_text("size,fur,kind\n1,no,cat\n2,yes,cow\n3,some,cat\n4,no,cow\n")

    def write(text):
        (tmp_path / "new.csv").write_text(text)
        return tmp_path / "new.csv"

    def model(**options):
        data = load_dataset(tmp_path / "pets.csv", label="kind", **options)
        return make_model(data.n_inputs, data.classes, columns=data.columns)

    return model, write


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("size,fur\n5,yes\n6,no\n", None),
        ("fur,id,size,kind\nyes,x,5,cow\nno,?,6,\n", [1, UNKNOWN]),
        (" fur;size;kind\nyes;5;emu\nno;6,0;cat\n", [UNKNOWN, 0]),
        (",size,fur,kind\n0,5,yes,cat\n1,6,no,cow\n", [0, 1]),
    ],
)
def test_columns_and_labels_are_found_by_their_names(pets, text, truth):
    model, write = pets
    answers = classify(write(text), model())
    assert answers.values.tolist() == [[5, 0, 0, 1], [6, 1, 0, 0]]
    assert (answers.truth if truth is None else answers.truth.tolist()) == truth
    assert answers.numbers.tolist() == [2, 3]


@pytest.mark.parametrize("cells", [("1", "2"), ("1.0", "2.0"), ("1e0", "+2")])
def test_labels_that_are_numbers_may_be_written_otherwise(tmp_path, cells):
    columns = [{"name": "a"}, {"name": "kind", "label": True}]
    (tmp_path / "x.csv").write_text("a,kind\n7,{}\n8,{}\n9,\n".format(*cells))
    answers = classify(tmp_path / "x.csv", make_model(1, (1, 2), columns=columns))
    assert answers.truth.tolist() == [0, 1, UNKNOWN]


def test_without_names_columns_are_taken_in_their_order(pets):
    _, write = pets
    columns = [{"name": "a"}, {"name": "b"}, {"name": "kind", "label": True}]
    assert classify(write("1,2\n4,5\n"), make_model(2, columns=columns)).values.tolist() == [
        [1, 2],
        [4, 5],
    ]
    path = write("1,2,9\n4,5,9\n")
    for model in (make_model(2), make_model(2, columns=columns)):
        message = refusal_of_file(classify, path, model)
        assert message.startswith(": 3 columns, the model takes 2.")
    assert classify(write("p,q\n1,2\n"), make_model(2)).values.tolist() == [[1, 2]]


def test_a_known_sets_columns_are_its_inputs(tmp_path):
    data = load_dataset("abalone")
    names = [column["name"] for column in data.columns]
    (tmp_path / "x.csv").write_text(",".join([*names, "rings"]) + "\nI,1,2,3,4,5,6,7,9\n")
    answers = classify(tmp_path / "x.csv", make_model(data.n_inputs, columns=data.columns))
    assert answers.values.tolist() == [[0, 0, 1, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "size,fur\n1,no\n\n2,blue\n",
            ", line 4: 'blue' in column 'fur', which no training sample had",
        ),
        (
            "size,fur\nx,no\n",
            ", line 2: 'x' in column 'size', expected a number like 1234.5. Correct it, or empty",
        ),
        ("size,fur\n,no\n", ", line 2: no value in column 'size'."),
        ("size,fur\n1,?\n", ", line 2: no value in column 'fur'."),
        ("size,colour\n1,no\n", ": no column fur, which the model was trained with."),
        ("size,fur\n", ": no lines below the first, expected samples."),
    ],
)
def test_tables_that_do_not_fit(pets, text, message):
    model, write = pets
    assert refusal_of_file(classify, write(text), model()).startswith(message)


def test_missing_values_are_filled_if_they_were_in_training(pets):
    model, write = pets
    answers = classify(write("size,fur\n,no\n7,?\n"), model(missing="mean"))
    nan = np.nan
    np.testing.assert_array_equal(answers.values, [[nan, 1, 0, 0], [7, nan, nan, nan]])
