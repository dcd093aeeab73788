"""The contrasts of the factorial study and those of a mixed model, fitted by statsmodels to a small sample.

The model has fixed effects of scorer, loss and their interaction, and random effects of queries and of tuners. In a
balanced sample its estimates are means of cells, and its standard errors include queries and tuners as those of the
study do. The study does not assume equal variances, so the standard errors agree in size alone.
"""

from itertools import product

import numpy as np
import pytest

from studies.factorial.effects import Cells, contrasts, estimate, matrix

pytest.importorskip("statsmodels", reason="statsmodels is not installed")
SCORERS, LOSSES, TUNERS, QUERIES = ["linear", "net"], ["ranknet", "softmax", "lambdarank"], 6, 40


def test_a_mixed_model_gives_the_same_contrasts():
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(0)
    shape = len(SCORERS), len(LOSSES)
    values = np.array([[0.0, 0.1, 0.2], [0.1, 0.1, 0.4]])[:, :, None, None, None] + rng.normal(0, 0.3, QUERIES)
    values = values + rng.normal(0, 0.05, (*shape, TUNERS, 1, 1))
    values = values + rng.normal(0, 0.1, (*shape, TUNERS, 1, QUERIES))
    tested = contrasts(SCORERS, LOSSES)
    ours = estimate(Cells(values, np.ones(QUERIES, int)), matrix(tested))

    index = list(product(range(shape[0]), range(shape[1]), range(TUNERS), range(QUERIES)))
    rows = [(i * shape[1] + j, (i * shape[1] + j) * TUNERS + t, q, values[i, j, t, 0, q]) for i, j, t, q in index]
    table = pd.DataFrame(rows, columns=["cell", "run", "query", "value"]).assign(all=1)
    random = {"query": "0 + C(query)", "run": "0 + C(run)"}
    fitted = MixedLM.from_formula("value ~ 0 + C(cell)", table, groups="all", re_formula="0", vc_formula=random).fit()

    theirs = fitted.fe_params.to_numpy()
    covariance = fitted.cov_params().iloc[: len(theirs), : len(theirs)].to_numpy()
    for k, contrast in enumerate(tested):
        weights = contrast.weights.ravel()
        assert ours.estimates[k] == pytest.approx(weights @ theirs, abs=1e-6)
        assert ours.errors[k] == pytest.approx(np.sqrt(weights @ covariance @ weights), rel=0.4)
    both = ours.errors, [np.sqrt(c.weights.ravel() @ covariance @ c.weights.ravel()) for c in tested]
    assert np.mean(both[0]) == pytest.approx(np.mean(both[1]), rel=0.2)
