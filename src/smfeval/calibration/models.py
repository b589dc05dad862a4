"""Models of a correction: how each is learnt from residuals, by the log score.

A sample is a track, or a part of one. All samples weigh the same, whatever their length: the mean
log score over samples is least. Its optimum for one factor is k = mean over samples of the mean
NEES / d. Other models start there and are found by a search over logarithms of their parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from smfeval.calibration.correction import ScanColumns, TelemetryTerm
from smfeval.dataclass import dataclass
from smfeval.errors import SeriesError
from smfeval.evaluation import Evaluation
from smfeval.maths import normal
from smfeval.maths.arrays import Floats, Ints, spaced_indices
from smfeval.score import Residuals
from smfeval.summarise.inflation import best_scale, median_chi_squared
from smfeval.why.causes import loss

MOST_SCANS = 500  # of a sample that a search looks at, evenly spaced
NEGLIGIBLE_M2 = 1e-14  # a floor below (0.1 um)^2 is none
FLAT = 1e-9  # spread of the logarithm of a column below which it is constant
WORST = 1e300  # score of covariances that overflow
FARTHEST = 25.0  # in logarithms, that a search goes from its start

Likelihood = Callable[[Floats], float]  # mean log score by logarithms of parameters


@dataclass(frozen=True)
class CalibrationSample:
    """Residuals of a track, or of a part of it, under the covariances that they are scored under.

    Attributes
    ----------
    residuals
        Of the position, in world axes.
    body
        The same in body axes, where all axes are scored and the body has some.
    rotation
        Of the rotation, None where it is not scored.
    telemetry, columns
        Logarithms of the chosen columns (n, c), and their names.
    lost
        Why the track counts as lost by itself, in words.
    """

    residuals: Residuals
    body: Residuals | None
    rotation: Residuals | None
    telemetry: Floats | None = None
    columns: tuple[str, ...] = ()
    lost: str | None = None

    def __getitem__(self, scans: Ints) -> "CalibrationSample":
        """Some of the scans; rotations are taken along where they are of the same scans."""
        whole, parts = len(self.residuals), (self.body, self.rotation)
        body, rotation = (
            None if part is None or len(part) != whole else part[scans] for part in parts
        )
        telemetry = None if self.telemetry is None else self.telemetry[scans]
        return replace(
            self, residuals=self.residuals[scans], body=body, rotation=rotation, telemetry=telemetry
        )

    @cached_property
    def some(self) -> "CalibrationSample":
        """Evenly spaced scans that stand for it in a search."""
        count = len(self.residuals)
        return self[spaced_indices(count, MOST_SCANS)]

    @property
    def k(self) -> float:
        """The factor that is best for its log score: mean NEES / d if the reference is exact."""
        return scale_of(self.residuals)


def scale_of(residuals: Residuals) -> float:
    """The factor on the covariance that is best for the mean log score."""
    return best_scale(residuals.error, _claimed(residuals), residuals.noise)


def sample_of(
    evaluation: Evaluation, table: ScanColumns | None = None, columns: tuple[str, ...] = ()
) -> CalibrationSample:
    """The residuals of an evaluated track, with columns of telemetry at its scored scans."""
    scored, space = evaluation.position, evaluation.options.space
    telemetry = table.at(scored.estimate.stamp, columns) if table and columns else None
    body = None
    if space.is_whole and scored.estimate.about.oriented and scored.has_belief:
        body = space.body_residuals(scored.estimate, scored.residuals)
    rotation = None if evaluation.rotation is None else evaluation.rotation.residuals
    lost = loss(evaluation.doubts)
    return CalibrationSample(scored.residuals, body, rotation, telemetry, columns, lost)


@dataclass(frozen=True)
class PositionPart:
    """Parameters of a correction, but for the rotation."""

    factors: tuple[float, float, float]
    floor_m2: float = 0.0
    telemetry: tuple[TelemetryTerm, ...] = ()

    @property
    def scale(self) -> float:
        """The one factor, or the geometric mean of those of the axes."""
        x, y, z = self.factors
        return x if x == y == z else float((x * y * z) ** (1 / 3))


@dataclass(frozen=True)
class Model:
    """How the position's part of a correction is learnt, and what it needs of every sample."""

    learn: Callable[[Sequence[CalibrationSample]], PositionPart]
    has: Callable[[CalibrationSample], bool] = lambda sample: True
    needs: str = ""

    def why_not(self, samples: Sequence[CalibrationSample]) -> str | None:
        """What a sample lacks, in words."""
        return None if all(map(self.has, samples)) else f"it needs {self.needs}"


@dataclass(frozen=True)
class Stack:
    """Residuals of several samples one after the other; every sample has the same weight."""

    error: Floats  # (n, d)
    covariance: Floats  # (n, d, d)
    noise: Floats | None
    weight: Floats  # (n,), sums to 1

    @classmethod
    def of(cls, parts: Sequence[Residuals]) -> "Stack":
        """Stack residuals."""
        claimed, noise = [_claimed(part) for part in parts], [part.noise for part in parts]
        known = [
            np.zeros_like(covariance) if part is None else part
            for covariance, part in zip(claimed, noise, strict=True)
        ]
        weight = [np.full(len(part), 1 / len(part) / len(parts)) for part in parts]
        return cls(
            np.concatenate([part.error for part in parts]),
            np.concatenate(claimed),
            None if all(part is None for part in noise) else np.concatenate(known),
            np.concatenate(weight),
        )

    def log_score(self, covariance: Floats) -> float:
        """Mean over samples of the mean log score under other covariances."""
        predicted = covariance if self.noise is None else covariance + self.noise
        terms = normal.likelihood_terms(self.error, predicted)
        score = -float(self.weight @ normal.log_density(terms, self.error.shape[1]))
        return score if np.isfinite(score) else WORST


def pooled_scale(samples: Sequence[CalibrationSample]) -> float:
    """The factor that is best for the mean over samples of their mean log scores."""
    if all(sample.residuals.noise is None for sample in samples):
        return float(np.mean([sample.k for sample in samples]))
    stack = Stack.of([sample.some.residuals for sample in samples])
    start = np.log(np.median([sample.k for sample in samples]))
    found = minimise(
        lambda logs: stack.log_score(np.exp(logs[0]) * stack.covariance), np.array([start])
    )
    return float(np.exp(found[0]))


def robust_scale(samples: Sequence[CalibrationSample]) -> float:
    """Median over samples of median NEES / median chi-squared."""
    residuals = [sample.residuals for sample in samples]
    medians = [
        float(np.median(part.likelihood_terms.nees)) / median_chi_squared(part.dimension)
        for part in residuals
    ]
    return float(np.median(medians))


def rotation_scale(samples: Sequence[CalibrationSample]) -> float | None:
    """The same factor for the rotation; None where a sample has none."""
    found = [sample.rotation for sample in samples]
    known = [each for each in found if each is not None]
    return float(np.mean([scale_of(each) for each in known])) if len(known) == len(found) else None


def learn_scale(samples: Sequence[CalibrationSample]) -> PositionPart:
    """One factor."""
    k = pooled_scale(samples)
    return PositionPart((k, k, k))


def learn_axes(samples: Sequence[CalibrationSample]) -> PositionPart:
    """A factor for each axis of the body."""
    bodies = [sample.some.body for sample in samples]
    stack = Stack.of([each for each in bodies if each is not None])

    def score(logs: Floats) -> float:
        root = np.exp(0.5 * logs)
        return stack.log_score(root[:, None] * root * stack.covariance)

    x, y, z = np.exp(minimise(score, np.full(3, np.log(pooled_scale(samples)))))
    return PositionPart((float(x), float(y), float(z)))


def learn_floor(samples: Sequence[CalibrationSample]) -> PositionPart:
    """One factor, and the same variance added in all directions at all times."""
    stack, k = Stack.of([sample.some.residuals for sample in samples]), pooled_scale(samples)
    unit, square = np.eye(stack.error.shape[1]), float(np.mean(stack.error**2))

    def score(logs: Floats) -> float:
        factor, floor = np.exp(logs)
        return stack.log_score(factor * stack.covariance + floor * unit)

    # from the better of two starts: nearly all of the errors by one or by the other
    starts = (np.log([k, 1e-3 * square]), np.log([min(1.0, k), square]))
    factor, floor = np.exp(min((minimise(score, start) for start in starts), key=score)).tolist()
    return PositionPart((factor,) * 3, floor_m2=floor if floor > NEGLIGIBLE_M2 else 0.0)


def learn_telemetry(samples: Sequence[CalibrationSample]) -> PositionPart:
    """A factor that follows columns of telemetry: log k_t = a + b . x_t."""
    columns = samples[0].columns
    some = [sample.some for sample in samples]
    logs = np.concatenate([each.telemetry for each in some if each.telemetry is not None])
    mean, spread = logs.mean(axis=0), logs.std(axis=0)
    if not (spread > FLAT).all():
        flat = columns[int(np.argmin(spread))]
        raise SeriesError(f"column {flat} is constant on the tracks that are learnt from")
    x = (logs - mean) / spread
    stack = Stack.of([each.residuals for each in some])

    def score(theta: Floats) -> float:
        return stack.log_score(np.exp(theta[0] + x @ theta[1:])[:, None, None] * stack.covariance)

    start = np.concatenate([[np.log(pooled_scale(samples))], np.zeros(len(columns))])
    theta = minimise(score, start)
    k = float(np.exp(theta[0]))
    terms = tuple(
        TelemetryTerm(column, float(slope), float(middle), float(width))
        for column, slope, middle, width in zip(columns, theta[1:], mean, spread, strict=True)
    )
    return PositionPart((k, k, k), telemetry=terms)


def minimise(score: Likelihood, start: Floats) -> Floats:
    """Where the score is least, near enough to the start."""
    from scipy.optimize import minimize  # noqa: PLC0415  slow to import

    bounds = [(each - FARTHEST, each + FARTHEST) for each in start]
    with np.errstate(all="ignore"):
        found = minimize(score, start, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


def _claimed(residuals: Residuals) -> Floats:
    if residuals.covariance is None:
        raise SeriesError("poses without covariances have nothing to correct")
    return residuals.covariance


MODELS = {
    # one factor
    "scale": Model(learn_scale),
    # a factor for each axis of the body
    "axes": Model(learn_axes, lambda s: s.body is not None, "all three axes and an orientation"),
    # a factor and a constant variance
    "floor": Model(learn_floor),
    # a factor that follows columns
    "telemetry": Model(
        learn_telemetry, lambda s: s.telemetry is not None, "telemetry of every track"
    ),
}
ROTATION = "blocks"  # a factor of its own for the rotation, beside whichever model
