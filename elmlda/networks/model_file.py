"""Models of `elmlda train` in one .npz file, without pickle.

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

from elmlda.core import FloatArray
from elmlda.core.solve import PiOutputs
from elmlda.datasets.split import Scaling
from elmlda.errors import ElmldaError, printable
from elmlda.files import NOT_ARRAYS, write_atomically
from elmlda.networks.model import Model, Network
from elmlda.networks.train import Recipe
from elmlda.settings import NetworkSettings

FORMAT, VERSION = "elmlda model", 5
ADVICE = "No model was written: mend the cause and try again, or name another file."
NOT_A_MODEL = (*NOT_ARRAYS, LookupError, TypeError, AttributeError)
"""What reading a file that is damaged, or none of ours, ends with."""


def write_model(path: Path, model: Model, *, replace: bool = True) -> None:
    """Write a model, whole or not at all; `replace` says whether a file may be replaced.

    Constrained input weights, which are made of training samples, are kept themselves.
    """
    networks = model.networks
    about = {
        "format": FORMAT,
        "version": VERSION,
        "numpy": np.__version__,
        "classes": model.classes,
        "largest_input": model.largest_input,
        "columns": model.columns,
        "networks": [_describe(network) for network in networks],
    }
    arrays: dict[str, NDArray[Any]] = {
        "about": np.array(json.dumps(about)),
        "output_weights": np.stack([network.pi.weights for network in networks]),
        "explained": np.stack([network.pi.explained for network in networks]),
        "class_counts": networks[0].pi.class_counts,
    }
    if networks[0].priors is not None:
        arrays["priors"] = networks[0].priors
    if model.scaling is not None:
        arrays |= {"offsets": model.scaling.offsets, "factors": model.scaling.factors}
    is_constrained = model.recipe.settings.is_constrained
    if is_constrained:
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
        about = json.loads(str(arrays["about"]))
        if about["format"] != FORMAT:
            raise ValueError(f"format is {about['format']!r}")
        if about["version"] != VERSION:
            raise ElmldaError(
                f"{path}: format {about['version']}, this elmlda reads format {VERSION}. Read it with "
                "the elmlda that wrote it, or train it again."
            )
        return Model(
            tuple(_read_network(path, i, about, arrays) for i in range(len(about["networks"]))),
            tuple(about["classes"]),
            Scaling(arrays["offsets"], arrays["factors"]) if "factors" in arrays else None,
            about["largest_input"],
            about["columns"],
        )
    except OSError as error:
        raise ElmldaError(f"{path}: cannot be read: {error.strerror or error}.") from error
    except NOT_A_MODEL as error:
        cause = printable(f"{type(error).__name__}: {error}", 200).rstrip(".")
        raise ElmldaError(f"{path}: not a model that elmlda wrote ({cause}).") from error


def _describe(network: Network) -> dict[str, Any]:
    recipe = network.recipe
    return {
        "seed": recipe.seed.entropy,
        "key": recipe.seed.spawn_key,
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
    path: Path, index: int, about: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> Network:
    its = about["networks"][index]
    shape = its["image_shape"]
    recipe = Recipe(
        np.random.SeedSequence(its["seed"], spawn_key=its["key"]),
        its["n_inputs"],
        its["n_hidden"],
        NetworkSettings(**its["settings"]),
        None if shape is None else tuple(shape),
    )
    if "input_weights" in arrays:
        layer = recipe.make_layer(arrays["input_weights"][index].T)
    else:
        layer = recipe.draw_layer()
    if _checksum(layer.input_weights) != its["input_weights_sha256"]:
        raise ElmldaError(
            f"{path}: numpy {np.__version__} does not draw the input weights that {about['numpy']} "
            "drew from the same seed. Train the model again, or use it there."
        )
    # In solve's order, so that BLAS rounds as it did.
    weights = np.asfortranarray(arrays["output_weights"][index], np.float64)
    size, counts = (recipe.n_hidden,), arrays["class_counts"]
    pi = PiOutputs(size, weights, arrays["explained"][index], counts, (its["rank"],), None)
    return Network(recipe, layer, pi, arrays.get("priors"), its["ridge"], its["temperature"])


def _checksum(input_weights: FloatArray) -> str:
    return hashlib.sha256(np.ascontiguousarray(input_weights.T).data).hexdigest()
