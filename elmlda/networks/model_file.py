"""Models in one .npz file, without pickle.

The input weights are by far the largest part of a network, and they follow from its seed: the file
keeps the seed, and their checksum to prove that they were drawn again as they were. `about` is JSON,
the rest are plain arrays, the networks of an ensemble stacked.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core import FloatArray
from elmlda.core.solve import PiOutputs
from elmlda.datasets.split import Scaling
from elmlda.errors import ElmldaError, printable
from elmlda.files import write_atomically
from elmlda.networks.model import Model, Network
from elmlda.networks.train import Recipe
from elmlda.settings import NetworkSettings

FORMAT, VERSION = "elmlda model", 4
ADVICE = "No model was written: mend the cause and try again, or name another file."
NOT_A_MODEL = (
    *(ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What reading a file that is damaged, or none of ours, ends with."""
SAFE_KINDS = "biufU"
"""Kinds of labels that numpy stores without pickle and that are not altered by it."""


def write_model(
    path: Path, model: Model, with_input_weights: bool = False, *, replace: bool = True
) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    with_input_weights : keep the input weights themselves, beside the seeds: for a file that must be
        readable by any version of numpy, whatever becomes of its random numbers; constrained ones,
        which are made of training samples, are kept in any case
    replace : whether a file that is there may be replaced
    """
    networks = model.networks
    about = {
        "format": FORMAT,
        "version": VERSION,
        "numpy": np.__version__,
        "is_ensemble": model.is_ensemble,
        "image_shape": model.image_shape,
        "largest_input": model.largest_input,
        "columns": model.columns,
        "object_labels": model.classes.dtype.kind == "O",
        "params": model.params,
        "networks": [_describe(network) for network in networks],
    }
    arrays: dict[str, NDArray[Any]] = {
        "about": np.array(json.dumps(about)),
        "classes": _as_storable(path, model.classes),
        "output_weights": np.stack([network.pi.weights for network in networks]),
        "explained": np.stack([network.pi.explained for network in networks]),
        "class_counts": networks[0].pi.class_counts,
    }
    if model.priors is not None:
        arrays["priors"] = model.priors
    if model.scaling is not None:
        arrays |= {"offsets": model.scaling.offsets, "factors": model.scaling.factors}
    if model.feature_names is not None:
        arrays["feature_names"] = model.feature_names.astype(np.str_)
    is_constrained = model.recipe.settings.is_constrained
    if with_input_weights or is_constrained:
        arrays["input_weights"] = np.stack([network.layer.input_weights.T for network in networks])
    content = io.BytesIO()
    save = np.savez_compressed if is_constrained else np.savez  # most of those weights may be zero
    save(content, **arrays)  # type: ignore[arg-type,unused-ignore]
    write_atomically(path, content.getvalue(), ADVICE, replace=replace)


def read_model(path: Path) -> Model:
    """Read a model; ElmldaError if the file is not whole, or not a model."""
    try:
        # Of a file that is not whole numpy would leave the descriptor open.
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = dict(archive)
        about = json.loads(str(arrays.pop("about")))
        if about["format"] != FORMAT:
            raise ValueError(f"format is {about['format']!r}")
        if about["version"] != VERSION:
            raise ElmldaError(
                f"{path}: format {about['version']}, this elmlda reads format {VERSION}. Read it with "
                "the elmlda that wrote it, or train it again."
            )
        return _assemble(path, about, arrays)
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except NOT_A_MODEL as error:
        cause = printable(f"{type(error).__name__}: {error}", 200).rstrip(".")
        raise ElmldaError(f"{path}: not a model that elmlda wrote ({cause}).") from error


def _assemble(path: Path, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    networks = tuple(
        _read_network(path, i, each, arrays, about["numpy"]) for i, each in enumerate(about["networks"])
    )
    classes, shape = arrays["classes"], about["image_shape"]
    return Model(
        networks,
        classes.astype(object) if about["object_labels"] else classes,
        about["is_ensemble"],
        None if shape is None else (int(shape[0]), int(shape[1])),
        arrays["feature_names"].astype(object) if "feature_names" in arrays else None,
        Scaling(arrays["offsets"], arrays["factors"]) if "factors" in arrays else None,
        about["params"],
        about["largest_input"],
        about["columns"],
    )


def _describe(network: Network) -> dict[str, Any]:
    recipe = network.recipe
    return {
        "seed": describe_seed(recipe.seed),
        "n_inputs": recipe.n_inputs,
        "n_hidden": recipe.n_hidden,
        "settings": asdict(recipe.settings),
        "image_shape": recipe.image_shape,
        "ridge": network.ridge,
        "temperature": network.temperature,
        "rank": network.pi.ranks[0],
        "input_weights_sha256": _checksum(network.layer.input_weights),
    }


def _read_network(
    path: Path, index: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]], numpy_version: str
) -> Network:
    shape = about["image_shape"]
    recipe = Recipe(
        read_seed(about["seed"]),
        about["n_inputs"],
        about["n_hidden"],
        NetworkSettings(**about["settings"]),
        None if shape is None else tuple(shape),
    )
    if "input_weights" in arrays:
        layer = recipe.make_layer(arrays["input_weights"][index].T)
    else:
        layer = recipe.draw_layer()
    if _checksum(layer.input_weights) != about["input_weights_sha256"]:
        raise ElmldaError(
            f"{path}: numpy {np.__version__} does not draw the input weights that {numpy_version} "
            "drew from the same seed. Read it there and save it with its input weights."
        )
    # In solve's order, so that BLAS rounds as it did.
    weights = np.asfortranarray(arrays["output_weights"][index], np.float64)
    size, counts = (recipe.n_hidden,), arrays["class_counts"]
    pi = PiOutputs(size, weights, arrays["explained"][index], counts, (int(about["rank"]),), None)
    ridge, temperature = float(about["ridge"]), float(about["temperature"])
    return Network(recipe, layer, pi, arrays.get("priors"), ridge, temperature)


def _checksum(input_weights: FloatArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(input_weights.T).data).hexdigest()


def describe_seed(seed: np.random.SeedSequence) -> dict[str, Any]:
    """A seed sequence as JSON has it."""
    entropy = seed.entropy
    plain = int(entropy) if isinstance(entropy, int | np.integer) else [int(e) for e in entropy or ()]
    return {"entropy": plain, "spawn_key": [int(key) for key in seed.spawn_key]}


def read_seed(described: dict[str, Any]) -> np.random.SeedSequence:
    """The seed sequence that `describe_seed` described."""
    return np.random.SeedSequence(described["entropy"], spawn_key=described["spawn_key"])


def _as_storable(path: Path, labels: NDArray[Any]) -> NDArray[Any]:
    if labels.dtype.kind in SAFE_KINDS:
        return labels
    if all(isinstance(label, str) for label in labels):
        return labels.astype(np.str_)
    raise ElmldaError(
        f"{path}: labels of type {type(labels[0]).__name__} cannot be kept without pickle. "
        "Use joblib.dump, or labels that are strings or numbers."
    )
