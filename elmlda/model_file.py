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

from elmlda.arrays import FloatArray
from elmlda.datasets.scaling import Scaling
from elmlda.errors import ElmldaError
from elmlda.hidden import HiddenLayer
from elmlda.model import Model, Network, Recipe
from elmlda.settings import COMBINATIONS, NetworkSettings
from elmlda.solve import PiOutputs
from elmlda.store import write_atomically

FORMAT, VERSION = "elmlda model", 1
ZIP_MAGIC = b"PK"
ADVICE = "No model was written: mend the cause and run the same command again, or name another file."
SAFE_KINDS = "biufU"
"""Kinds of labels that numpy stores without pickle and that are not altered by it."""


def write_model(path: Path, model: Model, with_input_weights: bool = False) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    with_input_weights : keep the input weights themselves, beside the seeds: for a file that must be
        readable by any version of numpy, whatever becomes of its random numbers; constrained ones,
        which are made of training samples, are kept in any case
    """
    networks = model.networks
    about = {
        "format": FORMAT,
        "version": VERSION,
        "numpy": np.__version__,
        "combine": model.combine,
        "image_shape": model.image_shape,
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
    write_atomically(
        path, content.getvalue(), "No model was written: mend the cause, or name another file."
    )


def read_model(path: Path) -> Model:
    """Read a model; ElmldaError if the file is not whole, or not a model."""
    try:
        with path.open("rb") as file:
            if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
                raise ElmldaError(f"{path}: not a model that elmlda wrote (not a .npz file).")
            file.seek(0)
            return _read(path, file)
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except zipfile.BadZipFile as error:
        raise ElmldaError(f"{path}: damaged, or cut off ({str(error).rstrip('.')}).") from error
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError) as error:
        cause = f"{type(error).__name__}: {error}".rstrip(".")
        raise ElmldaError(f"{path}: not a model that elmlda wrote ({cause}).") from error
    except (zlib.error, MemoryError, OverflowError, NotImplementedError, RuntimeError) as error:
        raise ElmldaError(f"{path}: damaged ({error}).") from error


def _read(path: Path, file: Any) -> Model:
    with np.load(file, allow_pickle=False) as stored:
        if "about" not in stored:
            raise ValueError(f"it holds the arrays {', '.join(list(stored)[:5]) or 'none'}")
        about = json.loads(str(stored["about"]))
        arrays = {name: stored[name] for name in stored if name != "about"}
    if about["format"] != FORMAT:
        raise ValueError(f"format is {about['format']!r}")
    if about["version"] != VERSION:
        raise ElmldaError(
            f"{path}: format {about['version']}, this elmlda reads format {VERSION}. "
            "A newer elmlda made it: update yours."
        )
    networks = tuple(
        _read_network(path, i, each, arrays, about["numpy"]) for i, each in enumerate(about["networks"])
    )
    if not networks or len(arrays["classes"]) != networks[0].pi.n_classes:
        raise ValueError("the networks do not fit the classes")
    if about["combine"] not in (None, *COMBINATIONS):
        raise ValueError(f"combination {about['combine']!r}")
    classes = arrays["classes"]
    return Model(
        networks,
        classes.astype(object) if about["object_labels"] else classes,
        about["combine"],
        _read_shape(about["image_shape"]),
        arrays["feature_names"].astype(object) if "feature_names" in arrays else None,
        Scaling(arrays["offsets"], arrays["factors"]) if "factors" in arrays else None,
        about["params"],
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
        "rank": network.pi.ranks[0],
        "input_weights_sha256": _checksum(network.layer.input_weights),
    }


def _read_network(
    path: Path, index: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]], numpy_version: str
) -> Network:
    # In solve's order, so that BLAS rounds as it did.
    weights = np.asfortranarray(arrays["output_weights"][index])
    explained = arrays["explained"][index]
    counts = arrays["class_counts"]
    recipe = Recipe(
        read_seed(about["seed"]),
        int(about["n_inputs"]),
        int(about["n_hidden"]),
        NetworkSettings(**about["settings"]),
        _read_shape(about.get("image_shape")),
    )
    n_classes = len(counts)
    expected = (recipe.n_hidden, n_classes), (1, n_classes, n_classes)
    if (weights.shape, explained.shape) != expected or not np.isfinite(weights).all():
        raise ValueError(f"output weights of shape {weights.shape}")
    pi = PiOutputs((recipe.n_hidden,), weights, explained, counts, (int(about["rank"]),))
    layer = _read_layer(path, index, recipe, arrays)
    if _checksum(layer.input_weights) != about["input_weights_sha256"]:
        raise ElmldaError(
            f"{path}: numpy {np.__version__} does not draw the input weights that {numpy_version} "
            "drew from the same seed. Read it there and save it with its input weights."
        )
    return Network(recipe, layer, pi, arrays.get("priors"), float(about["ridge"]))


def _read_shape(found: Any) -> tuple[int, int] | None:
    return None if found is None else (int(found[0]), int(found[1]))


def _read_layer(path: Path, index: int, recipe: Recipe, arrays: dict[str, NDArray[Any]]) -> HiddenLayer:
    if "input_weights" not in arrays:
        return recipe.draw_layer()
    by_unit = arrays["input_weights"][index]
    if by_unit.shape != (recipe.n_hidden, recipe.n_inputs) or by_unit.dtype.kind != "f":
        raise ElmldaError(f"{path}: input weights of shape {by_unit.shape}: damaged.")
    return recipe.layer_of(by_unit.T)


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
