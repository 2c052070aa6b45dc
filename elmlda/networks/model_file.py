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
from elmlda.core.solve import PiOutputs
from elmlda.datasets.npz_file import open_npz
from elmlda.datasets.scaling import Scaling
from elmlda.errors import ElmldaError
from elmlda.machine import available_memory
from elmlda.networks.model import Model, Network, Recipe
from elmlda.networks.steps import HIDDEN_DTYPES, make_layer
from elmlda.runs.files import write_atomically
from elmlda.settings import COMBINATIONS, NetworkSettings
from elmlda.text import printable

FORMAT, VERSION = "elmlda model", 1
ADVICE = "No model was written: mend the cause and try again, or name another file."
SAFE_KINDS = "biufU"
"""Kinds of labels that numpy stores without pickle and that are not altered by it."""
ARRAYS: dict[str, tuple[Any, ...]] = {
    "class_counts": ("if", "classes"),
    "classes": (SAFE_KINDS, "classes"),
    "output_weights": ("f", "networks", "hidden", "classes"),
    "explained": ("f", "networks", 1, "classes", "classes"),
    "priors": ("f", "classes"),
    "offsets": ("f", "inputs"),
    "factors": ("f", "inputs"),
    "feature_names": ("U", "inputs"),
    "input_weights": ("f", "networks", "hidden", "weights"),
}
"""Name -> kinds of elements, and the shape. The first four are in every file."""


def write_model(
    path: Path, model: Model, with_input_weights: bool = False, is_new: bool = False
) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    with_input_weights : keep the input weights themselves, beside the seeds: for a file that must be
        readable by any version of numpy, whatever becomes of its random numbers; constrained ones,
        which are made of training samples, are kept in any case
    is_new : refuse to replace a file
    """
    networks = model.networks
    about = {
        "format": FORMAT,
        "version": VERSION,
        "numpy": np.__version__,
        "combine": model.combine,
        "image_shape": model.image_shape,
        "largest_input": model.largest_input,
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
    arrays["about"] = np.array(json.dumps(about | {"arrays": sorted({"about", *arrays})}))
    content = io.BytesIO()
    save = np.savez_compressed if is_constrained else np.savez  # most of those weights may be zero
    save(content, **arrays)  # type: ignore[arg-type,unused-ignore]
    write_atomically(path, content.getvalue(), ADVICE, is_new)


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
        _require_format(path, about, found)
        with np.errstate(all="ignore"):  # values that are not finite are refused below
            _require_arrays(about["networks"], arrays)
            return _assemble(path, about, arrays)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        cause = printable(f"{type(error).__name__}: {error}", 200).rstrip(".")
        raise ElmldaError(f"{path}: not a model that elmlda wrote ({cause}).") from error
    except (MemoryError, RecursionError) as error:
        raise ElmldaError(f"{path}: damaged ({error}).") from error


def _require_format(path: Path, about: dict[str, Any], found: list[str]) -> None:
    if about["format"] != FORMAT:
        raise ValueError(f"format is {about['format']!r}")
    if about["version"] != VERSION:
        raise ElmldaError(
            f"{path}: format {about['version']}, this elmlda reads format {VERSION}. "
            "A newer elmlda made it: update yours."
        )
    if about.get("arrays", found) != found:
        raise ValueError(f"it holds the arrays {', '.join(found)}, not {', '.join(about['arrays'])}")


def _require_arrays(networks: list[dict[str, Any]], arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that do not belong together, or have values that no model has."""
    sizes: dict[Any, int] = {1: 1, "networks": len(networks), "classes": arrays["class_counts"].size}
    for name in ("hidden", "inputs"):
        found = {network[f"n_{name}"] for network in networks}
        if len(found) != 1 or not all(isinstance(size, int) and size > 0 for size in found):
            raise ValueError(f"networks of {sorted(map(str, found))} {name}, expected one number")
        (sizes[name],) = found
    sizes["weights"] = sizes["inputs"] + bool(networks[0]["settings"].get("bias"))
    for i, (name, (kinds, *shape)) in enumerate(ARRAYS.items()):
        if i < 4 or name in arrays:
            _require_array(name, arrays[name], kinds, tuple(sizes[size] for size in shape))
    counts, classes, priors = arrays["class_counts"], arrays["classes"], arrays.get("priors")
    if len(counts) < 2 or (counts < 0).any() or not counts.any():
        raise ValueError(f"class_counts are {counts.tolist()[:12]}")
    if len(np.unique(classes)) < len(classes):
        raise ValueError("two classes have the same label")
    if priors is not None and (((priors > 0) != (counts > 0)).any() or abs(priors.sum() - 1) > 1e-6):
        raise ValueError(f"priors are {priors.tolist()[:12]}")
    if ("offsets" in arrays) != ("factors" in arrays):
        raise ValueError("half of the scaling is missing")


def _require_array(name: str, values: NDArray[Any], kinds: str, shape: tuple[int, ...]) -> None:
    if values.dtype.kind not in kinds or values.shape != shape:
        raise ValueError(f"{name} of shape {values.shape} and type {values.dtype}, expected {shape}")
    if values.dtype.kind == "f":
        if name != "classes" and values.dtype.name not in ("float32", "float64"):
            raise ValueError(f"{name} of type {values.dtype}")
        if not np.isfinite(values).all():
            raise ValueError(f"{name} that are not finite")


def _assemble(path: Path, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Model:
    networks = tuple(
        _read_network(path, i, each, arrays, about["numpy"]) for i, each in enumerate(about["networks"])
    )
    if about["combine"] not in (COMBINATIONS if len(networks) > 1 else (None, *COMBINATIONS)):
        raise ValueError(f"combination {about['combine']!r} of {len(networks)} networks")
    if about["params"] is not None and not isinstance(about["params"], dict):
        raise ValueError(f"params are {about['params']!r}")
    n_inputs, shape = networks[0].recipe.n_inputs, _read_shape(about["image_shape"])
    if shape is not None and shape[0] * shape[1] != n_inputs:
        raise ValueError(f"images of {shape}, {n_inputs} inputs")
    largest = about.get("largest_input")  # files from before there was one have none
    if largest is not None and not 0 < float(largest) < np.inf:
        raise ValueError(f"largest input {largest}")
    classes = arrays["classes"]
    return Model(
        networks,
        classes.astype(object) if about["object_labels"] else classes,
        about["combine"],
        shape,
        arrays["feature_names"].astype(object) if "feature_names" in arrays else None,
        Scaling(arrays["offsets"], arrays["factors"]) if "factors" in arrays else None,
        about["params"],
        None if largest is None else float(largest),
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
    recipe = Recipe(
        read_seed(about["seed"]),
        about["n_inputs"],
        about["n_hidden"],
        NetworkSettings(**about["settings"]),
        _read_shape(about.get("image_shape")),
    )
    n_bytes = recipe.n_inputs * recipe.n_hidden * HIDDEN_DTYPES[recipe.precision]().itemsize
    if (available := available_memory()) is not None and n_bytes > available:
        raise ValueError(f"{recipe.n_inputs:,} inputs, {n_bytes:,} bytes of input weights")
    if "input_weights" in arrays:
        layer = make_layer(arrays["input_weights"][index].T, recipe.settings)
    else:
        layer = recipe.draw_layer()
    expected = about["input_weights_sha256"]
    if _checksum(layer.input_weights) != expected:
        # Earlier versions rounded those of 513 to 1,024 hidden units to float32.
        layer = make_layer(layer.input_weights.astype(np.float32), recipe.settings)
    if _checksum(layer.input_weights) != expected:
        raise ElmldaError(
            f"{path}: numpy {np.__version__} does not draw the input weights that {numpy_version} "
            "drew from the same seed. Read it there and save it with its input weights."
        )
    # In solve's order, so that BLAS rounds as it did.
    weights = np.asfortranarray(arrays["output_weights"][index], np.float64)
    explained = arrays["explained"][index].astype(np.float64, copy=False)
    counts, ridge = arrays["class_counts"], float(about["ridge"])
    if not 0 <= ridge < np.inf:
        raise ValueError(f"ridge {ridge}")
    pi = PiOutputs((recipe.n_hidden,), weights, explained, counts, (int(about["rank"]),), None)
    return Network(recipe, layer, pi, arrays.get("priors"), ridge)


def _read_shape(found: Any) -> tuple[int, int] | None:
    return None if found is None else (int(found[0]), int(found[1]))


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
