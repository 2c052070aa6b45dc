"""Runs as scripts/check-rule simulates them: as evidence, and as records."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

from made_up import ensemble_records, pair_records, sweep_records, timing_records

from elmlda.reports.claims.evidence import ALL_FANOUTS, ALL_SIZES


def load_script(name="check-rule"):
    """One of scripts/ as a module."""
    path = Path(__file__).parents[2] / "scripts" / name
    module_name = name.replace("-", "_")
    spec = spec_from_loader(module_name, SourceFileLoader(module_name, str(path)))
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulate_run(rng, **shifts):
    """Records of a run of the paper's size, by the name of their file."""
    script = load_script()
    run = script.draw_run(rng, script.make_truth(**shifts), script.read_residuals())
    return {
        "sweep": sweep_records({f: run.rates[:, f - 1].tolist() for f in ALL_FANOUTS}),
        "pairs": pair_records(run.pairs[:, 0], first=script.FIRST_PAIRED // 2),
        "ensemble": ensemble_records({s: run.ensembles[:, s - 1] for s in ALL_SIZES}),
        "timing": timing_records(
            {f: [(10.0, 10 * (1 + e / 100), 10.5) for e in rng.normal(5, 1, 3)] for f in ALL_FANOUTS}
        ),
    }
