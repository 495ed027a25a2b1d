# SPDX-License-Identifier: Apache-2.0
"""TSNE as an estimator of scikit-learn."""

import pickle

import numpy as np
import pytest

import lime_toolkit as lt


pytestmark = pytest.mark.filterwarnings("ignore:Estimator TSNE does not inherit")


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)


def test_parameters_are_those_of_the_constructor(points):
    tsne = lt.TSNE(perplexity=5, random_state=3, max_iter=60, n_components=2, learning_rate="auto", patience=300)
    assert tsne.get_params()["random_state"] == 3 and repr(tsne).startswith("TSNE(perplexity=5, ")
    same = lt.TSNE(perplexity=5, seed=3, iterations=60)
    assert np.array_equal(tsne.fit_transform(points), same.fit_transform(points)) and tsne.n_features_in_ == 5
    assert np.array_equal(pickle.loads(pickle.dumps(tsne)).embedding_, tsne.embedding_)
    assert tsne.set_params(perplexity=7).perplexity == 7
    with pytest.raises(ValueError, match="TSNE: has no parameter 'perplexty'"):
        tsne.set_params(perplexty=3)
    with pytest.raises(ValueError, match="n_components: must be 2, got 3"):
        lt.TSNE(n_components=3).fit(points)


def test_clones_and_pipelines(points):
    base = pytest.importorskip("sklearn.base")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    tsne = lt.TSNE(perplexity=5, random_state=0, max_iter=50)
    assert base.clone(tsne).get_params() == tsne.get_params()
    scaled = StandardScaler().fit_transform(points)
    found = make_pipeline(StandardScaler(), tsne).fit_transform(points)
    assert np.array_equal(found, base.clone(tsne).fit_transform(scaled))
    state = np.random.RandomState(0)
    assert lt.TSNE(perplexity=5, random_state=state, max_iter=50).fit(points).embedding_.shape == (60, 2)


def test_passes_the_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    # These set n_components to 1; the embeddings have two dimensions.
    expected = dict.fromkeys(
        ("check_dont_overwrite_parameters", "check_methods_sample_order_invariance", "check_methods_subset_invariance",
         "check_fit2d_1sample", "check_fit2d_1feature", "check_fit2d_predict1d"), "n_components is 2",
    )
    found = checks.check_estimator(
        lt.TSNE(perplexity=2, max_iter=20), on_fail=None, on_skip=None, expected_failed_checks=expected
    )
    assert len(found) > 25
    failed = [one for one in found if one["status"] == "failed"]
    assert not failed, [(one["check_name"], str(one["exception"])[:200]) for one in failed]
