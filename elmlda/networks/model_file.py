"""Models in one .npz file, without pickle.

The input weights are by far the largest part of a network, and they follow from its seed: the file
keeps the seed, and their checksum to prove that they were drawn again as they were. `about` is JSON,
the rest are plain arrays, the networks of an ensemble stacked.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elmlda.core.arrays import FloatArray
from elmlda.core.hidden import HiddenLayer
from elmlda.core.solve import PiOutputs
from elmlda.datasets.array_file import open_npz
from elmlda.datasets.scaling import Scaling
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory
from elmlda.networks.model import Model, Network, Recipe
from elmlda.networks.steps import HIDDEN_DTYPES
from elmlda.runs.files import write_atomically
from elmlda.settings import COMBINATIONS, NetworkSettings

FORMAT, VERSION = "elmlda model", 1
ADVICE = "No model was written: mend the cause and try again, or name another file."
ARRAYS = (
    "classes",
    "output_weights",
    "explained",
    "class_counts",
    "priors",
    "offsets",
    "factors",
    "feature_names",
    "input_weights",
)
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
    about["arrays"] = sorted({"about", *arrays})
    arrays["about"] = np.array(json.dumps(about))
    content = io.BytesIO()
    save = np.savez_compressed if is_constrained else np.savez  # most of those weights may be zero
    save(content, **arrays)  # type: ignore[arg-type,unused-ignore]
    write_atomically(path, content.getvalue(), ADVICE)


def read_model(path: Path) -> Model:
    """Read a model; ElmldaError if the file is not whole, or not a model."""
    with open_npz(path) as archive:
        found = sorted(archive.keys)
        # Others are not looked at: each takes memory.
        arrays = {key: archive.read(key).values for key in ("about", *ARRAYS) if key in found}
    try:
        if "about" not in arrays:
            raise ValueError(f"it holds the arrays {', '.join(found[:5]) or 'none'}")
        about = json.loads(str(arrays.pop("about")))
        return _assemble(path, about, arrays, found)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        cause = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        raise ElmldaError(f"{path}: not a model that elmlda wrote ({cause}).") from error
    except (MemoryError, RecursionError) as error:
        raise ElmldaError(f"{path}: damaged ({error}).") from error


def _assemble(
    path: Path, about: dict[str, Any], arrays: dict[str, NDArray[Any]], found: list[str]
) -> Model:
    if about["format"] != FORMAT:
        raise ValueError(f"format is {about['format']!r}")
    if about["version"] != VERSION:
        raise ElmldaError(
            f"{path}: format {about['version']}, this elmlda reads format {VERSION}. "
            "A newer elmlda made it: update yours."
        )
    if about.get("arrays", found) != found:
        raise ValueError(f"it holds the arrays {', '.join(found)}, not {', '.join(about['arrays'])}")
    n_inputs = int(about["networks"][0]["n_inputs"]) if about["networks"] else 0
    _require_shapes(arrays, n_inputs)
    networks = tuple(
        _read_network(path, i, each, arrays, about["numpy"]) for i, each in enumerate(about["networks"])
    )
    if not networks or arrays["classes"].shape != (networks[0].pi.n_classes,):
        raise ValueError("the networks do not fit the classes")
    if any(network.recipe.n_inputs != n_inputs for network in networks):
        raise ValueError("the networks do not have the same inputs")
    if about["combine"] not in (COMBINATIONS if len(networks) > 1 else (None, *COMBINATIONS)):
        raise ValueError(f"combination {about['combine']!r} of {len(networks)} networks")
    classes = arrays["classes"]
    shape = _read_shape(about["image_shape"])
    if shape is not None and shape[0] * shape[1] != n_inputs:
        raise ValueError(f"images of {shape}, {n_inputs} inputs")
    return Model(
        networks,
        classes.astype(object) if about["object_labels"] else classes,
        about["combine"],
        shape,
        arrays["feature_names"].astype(object) if "feature_names" in arrays else None,
        Scaling(arrays["offsets"], arrays["factors"]) if "factors" in arrays else None,
        about["params"],
    )


def _require_shapes(arrays: dict[str, NDArray[Any]], n_inputs: int) -> None:
    """Refuse arrays that do not belong together, or hold what is no number."""
    counts = arrays["class_counts"]
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or not (counts >= 0).all():
        raise ValueError(f"class counts of shape {counts.shape}")
    expected = {"priors": len(counts), "offsets": n_inputs, "factors": n_inputs}
    for name, length in expected.items():
        values = arrays.get(name)
        if values is not None and (values.shape != (length,) or not _is_finite(values)):
            raise ValueError(f"{name} of shape {values.shape}, expected {length} finite numbers")
    names = arrays.get("feature_names")
    if names is not None and (names.shape != (n_inputs,) or names.dtype.kind != "U"):
        raise ValueError(f"feature names of shape {names.shape}, expected {n_inputs}")
    if ("offsets" in arrays) != ("factors" in arrays):
        raise ValueError("half of the scaling is missing")


def _is_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isfinite(values).all())


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
    is_sound = _is_finite(weights) and _is_finite(explained)
    if (weights.shape, explained.shape) != expected or not is_sound:
        raise ValueError(f"output weights of shape {weights.shape}")
    _require_memory(recipe)
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


def _require_memory(recipe: Recipe) -> None:
    """Refuse to draw more input weights than there is room for."""
    n_bytes = recipe.n_inputs * recipe.n_hidden * HIDDEN_DTYPES[recipe.precision]().itemsize
    available = available_memory()
    if recipe.n_inputs < 1 or (available is not None and n_bytes > available):
        raise ValueError(f"{recipe.n_inputs:,} inputs, {n_bytes:,} bytes of input weights")


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
