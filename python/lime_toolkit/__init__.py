# SPDX-License-Identifier: Apache-2.0
"""Records activations of PyTorch models, reads captures and results, and measures arrays.

Guide: docs/python.md. The metrics run the C++ code of lime-metrics, with its names and
defaults; values are bit-identical.
"""

from importlib.metadata import version

from . import _levels

_levels.load()

from ._lime_toolkit import RunningStatistics
from .activations import Activations
from .auditing import Audit, audit
from .caching import cache
from .capture import Capture
from .collapse import Collapse, collapse
from .comparison import Jackknife, PairedComparison, Summary, compare, holm_adjusted, jackknife, summarize
from .entropy import (
    Entropies,
    entropy,
    entropy_of_spectrum,
    spectrum,
    standardize,
    statistics_of,
    token_contributions,
)
from .geometry import (
    Geometry,
    Similarity,
    SimilarityMap,
    TokenProfile,
    cka,
    effective_rank,
    geometry,
    procrustes,
    similarity,
    similarity_map,
    token_profile,
)
from .interventions import edit
from .models import Site
from .probes import LimeCodeProbe, Probe, ProbeFold, lime_code_probe, probe
from .recorder import Recorder
from .results import Embeddings, Results
from .router import Router, router, router_weights
from .sweeps import Sweep, sweep
from .tables import LayerResults, Table
from .tsne import TSNE, trustworthiness

__version__ = version("lime-toolkit")
__all__ = [
    "Activations",
    "Audit",
    "Capture",
    "Collapse",
    "Embeddings",
    "Entropies",
    "Geometry",
    "Jackknife",
    "LayerResults",
    "LimeCodeProbe",
    "PairedComparison",
    "Probe",
    "ProbeFold",
    "Recorder",
    "Results",
    "Router",
    "RunningStatistics",
    "Similarity",
    "SimilarityMap",
    "Site",
    "Summary",
    "Sweep",
    "TSNE",
    "Table",
    "TokenProfile",
    "audit",
    "cache",
    "cka",
    "collapse",
    "compare",
    "edit",
    "effective_rank",
    "entropy",
    "entropy_of_spectrum",
    "geometry",
    "holm_adjusted",
    "jackknife",
    "lime_code_probe",
    "probe",
    "procrustes",
    "router",
    "router_weights",
    "similarity",
    "similarity_map",
    "spectrum",
    "standardize",
    "statistics_of",
    "summarize",
    "sweep",
    "token_contributions",
    "token_profile",
    "trustworthiness",
]
