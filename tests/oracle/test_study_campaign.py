"""Table 1 of the campaign, four filters on seven tracks, against plain numpy and scipy.

Nothing of smfeval is used for the numbers on the other side: files are read by `loadtxt`, poses
are interpolated linearly, aligned by Umeyama's formula and scored by the formulas of a Gaussian.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2, wilcoxon

from smfeval.studies.draft import plan_of_folder
from smfeval.studies.find import find_tasks
from smfeval.studies.plan_file import read_plan
from smfeval.studies.run import run_study

TRACKS = {
    "easy": ("college_1", "college_2", "college_3"),
    "hard": ("corridor_1", "field_1", "tunnel_1", "tunnel_ribs_1"),
}
FILTERS = ("fasterlio", "fastlio2", "i2ekf", "pointlio")
COLUMNS = ("mae", "rmse", "log", "k", "coverage_90", "energy")
DRAWS = 50  # of a Monte Carlo energy score, at each scan
LOWER = np.tril_indices(6)


def plain_scores(folder, name, rng):
    """MAE, RMSE, mean log score, k, 90 % coverage and mean energy score of one run."""
    rows = np.loadtxt(folder / f"{name}.txt.gz")
    truth = np.loadtxt(folder / f"reference{'_lidar' * (name == 'i2ekf')}.tum.gz")
    rows = rows[(rows[:, 0] >= truth[0, 0]) & (rows[:, 0] <= truth[-1, 0])]
    target = np.stack([np.interp(rows[:, 0], truth[:, 0], truth[:, i]) for i in (1, 2, 3)], axis=1)
    source, P = rows[:, 1:4], np.zeros((len(rows), 6, 6))
    P[:, LOWER[0], LOWER[1]] = rows[:, 8:]
    S = P[:, :3, :3] + np.swapaxes(np.tril(P[:, :3, :3], -1), 1, 2)

    middle, centre = source.mean(axis=0), target.mean(axis=0)
    U, _, Vt = np.linalg.svd((target - centre).T @ (source - middle))
    R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
    error = (source - middle) @ R.T + centre - target
    S = R @ S @ R.T

    size = np.linalg.norm(error, axis=1)
    nees = np.einsum("ni,ni->n", error, np.linalg.solve(S, error[..., None])[..., 0])
    log = 0.5 * (nees + np.linalg.slogdet(S)[1] + 3 * np.log(2 * np.pi))
    z = np.linalg.cholesky(S) @ rng.normal(size=(len(S), 3, 2 * DRAWS))
    first, second = z[..., :DRAWS], z[..., DRAWS:]
    near = np.linalg.norm(z - error[..., None], axis=1).mean(axis=1)
    energy = near - 0.5 * np.linalg.norm(first - second, axis=1).mean(axis=1)
    inside = np.mean(nees <= chi2.ppf(0.9, 3))
    k = np.median(nees) / chi2.median(3)
    return size.mean(), np.sqrt(np.mean(size**2)), log.mean(), k, inside, energy.mean()


@pytest.fixture(scope="module")
def plain(shared_data):
    """(filters, tracks, columns)."""
    rng = np.random.default_rng(1)
    folders = [shared_data / "campaign" / g / t for g, tracks in TRACKS.items() for t in tracks]
    return np.array([[plain_scores(f, name, rng) for f in folders] for name in FILTERS])


@pytest.fixture(scope="module")
def study(shared_data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("campaign")
    for group, tracks in TRACKS.items():
        for track in tracks:
            (folder / group / track).mkdir(parents=True)
            here = shared_data / "campaign" / group / track
            for file in (*here.glob("reference*.gz"), *(here / f"{n}.txt.gz" for n in FILTERS)):
                (folder / group / track / file.name).symlink_to(file.resolve())
    (folder / "study.toml").write_text(plan_of_folder(folder).text.replace("pairs = true", ""))
    plan = read_plan(folder / "study.toml")
    return run_study(plan, find_tasks(plan), workers=1).study


def columns(study, section):
    found = {column.metric: column for column in study.sections[section].columns}
    return {name: found[name] for name in COLUMNS}


@pytest.mark.parametrize(("section", "tracks"), [(0, range(3)), (1, range(3, 7)), (2, range(7))])
def test_medians_over_tracks_are_those_of_plain_numpy(study, plain, section, tracks):
    for at, (name, column) in enumerate(columns(study, section).items()):
        wanted = np.median(plain[:, list(tracks), at], axis=1)
        cells = {cell.estimator: cell.median.value for cell in column.cells}
        tolerance = 0.02 if name == "energy" else 5e-3  # Monte Carlo; how scans are interpolated
        assert [cells[each] for each in FILTERS] == pytest.approx(
            wanted, rel=tolerance, abs=2e-3
        ), name


def test_every_run_is_that_of_plain_numpy(study, plain):
    for at, name in enumerate(COLUMNS[:-1]):
        found = [
            [dict(r.numbers)[name].value for r in study.results if r.estimator == each]
            for each in FILTERS
        ]
        np.testing.assert_allclose(found, plain[..., at], rtol=1e-2, atol=3e-3, err_msg=name)


def test_tests_between_filters_are_those_of_scipy_and_seven_tracks_separate_nobody(study, plain):
    column = columns(study, 2)["mae"]
    mae = plain[..., 0]
    p = {
        pair: wilcoxon(*mae[list(pair)], method="exact").pvalue
        for pair in combinations(range(4), 2)
    }
    best = int(np.argmin(np.median(mae, axis=1)))
    for duel in column.duels:
        pair = tuple(sorted((best, FILTERS.index(duel.other))))
        assert (duel.best, duel.p) == (FILTERS[best], pytest.approx(p[pair]))
    assert min(p.values()) * len(p) > 0.05  # 2 / 2^7 for six pairs
    assert not any(cell.best for cell in column.cells)


def test_no_mark_contradicts_a_median_and_no_belief_is_marked_after_the_alignment(study):
    for section in study.sections:
        for column in section.columns:
            assert column.metric in ("mae", "rmse") or not any(cell.best for cell in column.cells)
            if any(cell.best for cell in column.cells):
                worst = max(cell.median.value for cell in column.cells if cell.best)
                others = [c.median.value for c in column.cells if not c.best and not c.reason]
                assert all(worst < other for other in others)
