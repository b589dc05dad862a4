"""What the case study runs: worlds, walks, filters, the knobs that turn and the variants."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from smfeval.compare.slopes import KnobSettings
from smfeval.errors import OptionError
from smfeval.studies.sweep import Knob, one_at_a_time
from smfeval_lab.filters import filter_named
from smfeval_lab.kept_runs import Job
from smfeval_lab.worlds import SeededWorld, world_named

OWN_FILTER = "ieskf"  # the filter whose knobs turn and whose updates are explained
SMOOTHER = "gtsam-smoother"
NOISE_KNOB = "point_variance"  # R, the knob that turns on every track and in every variant


class FamilyNoise(NamedTuple):
    """R of another filter than the lab's own, turned about the value that it ships."""

    filter: str
    knob: Knob


class Variant(NamedTuple):
    """The lab's own filter with settings `name=value`."""

    name: str
    settings: tuple[str, ...]


NAMES = ("college_short", "tunnel_ribs", "college_loop", "tunnel", "corridor", "field", "park",
         "street", "campus")  # fmt: skip
FILTERS = (OWN_FILTER, "fast-lio2", "faster-lio", "point-lio", "i2ekf-lo", SMOOTHER, "glim-like")
KNOBS = (
    Knob(NOISE_KNOB, ("1e-05", "0.0001", "0.001", "0.01", "0.1"), "0.001"),
    Knob("voxel_m", ("0.3", "0.5", "0.8", "1.2"), "0.5"),
    Knob("process_scale", ("0.1", "1", "10"), "1"),
    Knob("iterations", ("1", "4", "10"), "4"),
)
VARIANTS = (
    Variant("noise from residuals", ("noise=residuals",)),
    # reported twice a second with all cross-covariances, so that a fit of the world is allowed for
    Variant("map error carried", ("map_error=carried", "report_every=5", "cross_lags=1000")),
)
# Sharper by two decades and wider by two: a filter that follows its points errs with R.
FAMILY_NOISES = (
    FamilyNoise("fast-lio2", KNOBS[0]),
    FamilyNoise("point-lio", Knob(NOISE_KNOB, ("0.0001", "0.001", "0.01", "0.1", "1"), "0.01")),
)


@dataclass(frozen=True)
class CaseStudyPlan:
    """Worlds, length of the walks, filters, knobs and variants of a case study."""

    worlds: tuple[SeededWorld, ...] = tuple(SeededWorld(name, 1) for name in NAMES)
    swept_worlds: int = 2  # the first ones, on which all knobs turn; on the others only R
    walk_s: float = 70.0  # long enough to leave the clutter at the start of the smooth tunnel
    filters: tuple[str, ...] = FILTERS
    knobs: tuple[Knob, ...] = KNOBS
    variants: tuple[Variant, ...] = VARIANTS
    noises: tuple[str, ...] = ("0.0001", "0.001", "0.01")  # R of the variants
    family_noises: tuple[FamilyNoise, ...] = FAMILY_NOISES  # turned where all knobs turn

    @property
    def swept(self) -> tuple[SeededWorld, ...]:
        """Tracks on which all knobs turn."""
        return self.worlds[: self.swept_worlds]


FULL = CaseStudyPlan()
QUICK = CaseStudyPlan(
    worlds=FULL.worlds[:2],
    swept_worlds=1,
    walk_s=20.0,
    knobs=(
        Knob(NOISE_KNOB, ("0.0001", "0.001", "0.01"), "0.001"),
        Knob("voxel_m", ("0.5", "0.8", "1.2"), "0.5"),
        Knob("process_scale", ("1", "10"), "1"),
        Knob("iterations", ("1", "4"), "4"),
    ),
    family_noises=tuple(
        FamilyNoise(name, replace(knob, values=knob.values[1:4])) for name, knob in FAMILY_NOISES
    ),
)


def adapt_plan(
    plan: CaseStudyPlan,
    *,
    worlds: Sequence[str] | None = None,
    filters: Sequence[str] | None = None,
    walk_s: float | None = None,
    seed: int = 1,
) -> CaseStudyPlan:
    """The plan with other worlds and filters, and all worlds drawn from another seed."""
    if seed < 1:
        raise OptionError(f"a seed of the case study is 1 or more, not {seed}")
    if walk_s is not None and not walk_s > 0:
        raise OptionError(f"a walk lasts more than 0 s, not {walk_s}")
    places = worlds or [each.world for each in plan.worlds]
    names = tuple(dict.fromkeys(filters or plan.filters))
    for name in names:
        filter_named(name)
    drawn = tuple(SeededWorld(world_named(each).name, seed) for each in dict.fromkeys(places))
    return replace(plan, worlds=drawn, filters=names, walk_s=walk_s or plan.walk_s)


def knob_jobs(plan: CaseStudyPlan, track: SeededWorld) -> Iterator[tuple[KnobSettings, Job]]:
    """Each knob over its values while the others are at their default, with all settings.

    Only R is turned on tracks that are not swept.
    """
    usual = {knob.name: knob.default for knob in plan.knobs}
    turned = set(usual) if track in plan.swept else {NOISE_KNOB}
    for settings in one_at_a_time(plan.knobs):
        changed = {name: value for name, value in settings if value != usual[name]}
        if turned.issuperset(changed):
            words = tuple(f"{name}={value}" for name, value in changed.items())
            yield settings, Job(track, OWN_FILTER, words)


def family_jobs(
    plan: CaseStudyPlan, track: SeededWorld, family: FamilyNoise
) -> Iterator[tuple[KnobSettings, Job]]:
    """Another filter of the plan over its R, where all knobs turn."""
    knob = family.knob
    if family.filter in plan.filters and track in plan.swept:
        for value in knob.values:
            words = () if value == knob.default else (f"{knob.name}={value}",)
            yield ((knob.name, value),), Job(track, family.filter, words)


def variant_jobs(
    plan: CaseStudyPlan, track: SeededWorld, variant: Variant
) -> Iterator[tuple[KnobSettings, Job]]:
    """A variant over the noises that it is given."""
    usual = next((knob.default for knob in plan.knobs if knob.name == NOISE_KNOB), None)
    for value in plan.noises:
        words = () if value == usual else (f"{NOISE_KNOB}={value}",)
        yield ((NOISE_KNOB, value),), Job(track, OWN_FILTER, (*variant.settings, *words))


def jobs_of(plan: CaseStudyPlan, track: SeededWorld) -> tuple[Job, ...]:
    """All runs on a track, each once."""
    jobs = [Job(track, name) for name in plan.filters]
    jobs += [job for each in plan.family_noises for _, job in family_jobs(plan, track, each)]
    if OWN_FILTER in plan.filters:
        jobs += [job for _, job in knob_jobs(plan, track)]
        jobs += [job for each in plan.variants for _, job in variant_jobs(plan, track, each)]
    return tuple(dict.fromkeys(jobs))
