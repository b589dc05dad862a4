"""The paper's tables over real filters, against the same computed here in plain numpy and scipy."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import chi2, wilcoxon

from smfeval.compare.duels import holm
from smfeval.studies.find import find_tasks
from smfeval.studies.plan import apply_recipe, recipe_named
from smfeval.studies.plan_file import read_plan
from smfeval.studies.run import run_study

FILTERS = ("fastlio2", "fasterlio", "pointlio")
EASY = ("college_1", "college_2", "college_3")
HARD = ("corridor_1", "field_1", "tunnel_1", "tunnel_ribs_1")
MEDIAN, INSIDE_90 = chi2.ppf(0.5, 3), chi2.ppf(0.9, 3)
PLAN = """
[[tracks]]
names = {names}
reference = "{folder}/*/{{track}}/reference.tum.gz"
"""
ESTIMATOR = """
[[estimators]]
name = "{name}"
path = "{folder}/*/{{track}}/{name}.txt.gz"
convention = "world-position"
order = "translation-first"
"""


def loaded(path):
    """Stamps, positions, and the covariance of the position in world axes."""
    rows = np.loadtxt(path)
    if rows.shape[1] == 8:
        return rows[:, 0], rows[:, 1:4], None
    covariance, (i, j) = np.zeros((len(rows), 3, 3)), np.tril_indices(3)
    covariance[:, i, j] = covariance[:, j, i] = rows[:, 8:14]
    return rows[:, 0], rows[:, 1:4], covariance


def nearest(stamp, others, tolerance=0.005):
    """Rows of both that are nearest, at most 5 ms apart."""
    after = np.clip(np.searchsorted(others, stamp), 1, len(others) - 1)
    row = np.where(stamp - others[after - 1] < others[after] - stamp, after - 1, after)
    good = np.abs(others[row] - stamp) <= tolerance
    return np.flatnonzero(good), row[good]


def fitted(position, covariance, onto):
    """Error and covariance after Umeyama's rigid fit of positions, all of one weight."""
    mean, middle = position.mean(axis=0), onto.mean(axis=0)
    turn, _ = Rotation.align_vectors(onto - middle, position - mean)
    turn = turn.as_matrix()
    return (position - mean) @ turn.T + middle - onto, turn @ covariance @ turn.T


def nees(error, covariance):
    return np.einsum("ni,ni->n", error, np.linalg.solve(covariance, error[..., None])[..., 0])


def mean_norm(error, covariance):
    """E |X| of X ~ N(error, covariance): int (1 - E exp(-s |X|^2)) s^-3/2 ds / (2 sqrt(pi))."""
    size, axes = np.linalg.eigh(covariance)
    along = np.einsum("nij,ni->nj", axes, error)
    scale = np.sum(error**2, axis=1) + size.sum(axis=1)
    u = np.linspace(-32.0, 32.0, 400)[:, None, None]
    s = np.exp(u) / scale[None, :, None]
    spread = 1 + 2 * s * size
    transform = np.prod(np.exp(-s * along**2 / spread) / np.sqrt(spread), axis=2)
    return np.trapezoid((1 - transform) * s[..., 0] ** -0.5, u[:, 0, 0], axis=0) / (2 * np.pi**0.5)


def scored(folder, track, name):
    """What Table 1 has of one run."""
    (place,) = folder.glob(f"*/{track}")
    stamp, position, covariance = loaded(place / f"{name}.txt.gz")
    others, truth, _ = loaded(place / "reference.tum.gz")
    at, to = nearest(stamp, others)
    error, covariance = fitted(position[at], covariance[at], truth[to])
    squared, size = nees(error, covariance), np.linalg.norm(error, axis=1)
    spread = 0.5 * np.linalg.slogdet(covariance)[1]
    between = mean_norm(np.zeros_like(error), 2 * covariance)
    return {
        "mae": size.mean(),
        "rmse": np.sqrt(np.mean(size**2)),
        "energy": np.mean(mean_norm(error, covariance) - 0.5 * between),
        "log": np.mean(0.5 * squared + spread) + 1.5 * np.log(2 * np.pi),
        "log_consistency": np.mean(0.5 * squared),
        "log_sharpness": spread.mean(),
        "nees_median": np.median(squared),
        "k": np.median(squared) / MEDIAN,
        "coverage_90": np.mean(squared <= INSIDE_90),
    }


def compared(folder, track, a, b):
    """k_pair of the paper, k_pair under the reference's alignment, and whether C + C^T >= 0."""
    (place,) = folder.glob(f"*/{track}")
    (at, p, s), (bt, q, t) = (loaded(place / f"{name}.txt.gz") for name in (a, b))
    i, j = nearest(at, bt)
    difference, turned = fitted(p[i], s[i], q[j])
    others, truth, _ = loaded(place / "reference.tum.gz")
    common, to = nearest(bt[j], others)
    i, j = i[common], j[common]
    (e, e_s), (f, f_s) = fitted(p[i], s[i], truth[to]), fitted(q[j], t[j], truth[to])
    whiten = np.linalg.inv(np.linalg.cholesky(e_s + f_s))
    u, v = (np.einsum("nij,nj->ni", whiten, each) for each in (e, f))
    return {
        "k_pair_paper": np.median(nees(difference, turned + t[nearest(at, bt)[1]])) / MEDIAN,
        "k_pair_reference": np.median(nees(e - f, e_s + f_s)) / MEDIAN,
        "semidefinite": np.linalg.eigvalsh(u.T @ v + v.T @ u)[0] >= 0,
    }


def conducted(folder, tmp_path, tracks):
    """The study of the recipe, without the sensitivity."""
    text = PLAN.format(names=list(tracks), folder=folder).replace("'", '"')
    text += "".join(ESTIMATOR.format(name=name, folder=folder) for name in FILTERS)
    (tmp_path / "study.toml").write_text(text)
    plan = apply_recipe(read_plan(tmp_path / "study.toml"), recipe_named("paper"))
    plan = replace(plan, sensitivity=False)
    return run_study(plan, find_tasks(plan), workers=1).study


@pytest.mark.parametrize("tracks", [EASY[1:], pytest.param((*EASY, *HARD), marks=pytest.mark.slow)])
def test_both_tables_are_those_of_a_plain_computation(shared_data, tmp_path, tracks):
    folder = shared_data / "campaign"
    study = conducted(folder, tmp_path, tracks)
    expected = {(n, t): scored(folder, t, n) for n in FILTERS for t in tracks}
    kept = {key: numbers["mae"] <= 5 for key, numbers in expected.items()}
    for section in study.sections:
        here = {k: v for k, v in expected.items() if kept[k] or not section.converged_only}
        check_medians(section, FILTERS, here)
        check_tests(section, here, tracks)

    pairs = {f"{a} | {b}": (a, b) for a, b in combinations(FILTERS, 2)}
    found = {
        (name, t): compared(folder, t, *both)
        for name, both in pairs.items()
        for t in tracks
        if all(kept[each, t] for each in both)
    }
    (section,) = study.pair_sections
    check_medians(section, pairs, found)
    holds = {each.pair: each.holds for each in section.hypotheses}
    for name in pairs:
        assert holds[name] == sum(v["semidefinite"] for (n, _), v in found.items() if n == name)


def check_medians(section, names, expected):
    """Each cell is the median over its tracks, of all that is computed here."""
    known = next(iter(expected.values()))
    columns = [column for column in section.columns if column.metric in known]
    assert len(columns) == sum(key != "semidefinite" for key in known)
    for column in columns:
        cells = {cell.estimator: cell for cell in column.cells}
        for name in names:
            values = [v[column.metric] for (n, _), v in expected.items() if n == name]
            assert cells[name].median.value == pytest.approx(np.median(values), rel=2e-6), name


def check_tests(section, expected, tracks):
    """The tests of the MAE are scipy's, corrected over all pairs."""
    losses = np.array(
        [[expected.get((n, t), {}).get("mae", np.nan) for t in tracks] for n in FILTERS]
    )
    if len(tracks) < 6 or np.isnan(losses).any():
        return
    pairs = list(combinations(range(len(FILTERS)), 2))
    p = np.array([wilcoxon(losses[i], losses[j], method="exact").pvalue for i, j in pairs])
    corrected = dict(zip(pairs, holm(p), strict=True))
    column = next(each for each in section.columns if each.metric == "mae")
    assert column.duels
    for duel in column.duels:
        pair = tuple(sorted((FILTERS.index(duel.best), FILTERS.index(duel.other))))
        assert duel.p == pytest.approx(p[pairs.index(pair)])
        assert duel.p_holm == pytest.approx(corrected[pair])
