"""What the case study runs: worlds, walks, filters, the knobs that turn and the variants."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smfeval.compare.slopes import KnobSettings
from smfeval.errors import OptionError
from smfeval.studies.sweep import Knob, one_at_a_time
from smfeval_lab.filters import FILTERS, filter_named
from smfeval_lab.kept_runs import Job
from smfeval_lab.worlds import ADVERSARIAL, EASY, SeededWorld

OWN_FILTER = "ieskf"  # the filter whose knobs turn and whose updates are explained
SMOOTHER = "gtsam-smoother"
NOISE_KNOB = "point_variance"  # R, the knob that every variant is swept over


@dataclass(frozen=True)
class FamilyNoise:
    """R of another filter than the lab's own, turned about the value that it ships."""

    filter: str
    knob: Knob


@dataclass(frozen=True)
class Variant:
    """Settings that make the lab's own filter learn its noise, or carry the error of its map."""

    name: str
    settings: tuple[str, ...]  # its settings, as `name=value`


KNOBS = (
    Knob(NOISE_KNOB, ("1e-05", "0.0001", "0.001", "0.01", "0.1"), "0.001"),
    Knob("voxel_m", ("0.3", "0.5", "0.8", "1.2"), "0.5"),
    Knob("process_scale", ("0.1", "1", "10"), "1"),
    Knob("iterations", ("1", "4", "10"), "4"),
)

VARIANTS = (
    Variant("noise from residuals", ("noise=residuals",)),
    Variant("map error carried", ("map_error=carried",)),
)

# Sharper by two decades and wider by two: a filter that follows its points errs with R.
FAMILY_NOISES = (
    FamilyNoise("fast-lio2", KNOBS[0]),
    FamilyNoise("point-lio", Knob(NOISE_KNOB, ("0.0001", "0.001", "0.01", "0.1", "1"), "0.01")),
)

# KISS-ICP at 1 % of its range, as it ships: finer voxels cost four times as much.
SETTINGS: dict[str, tuple[str, ...]] = {"kiss-icp": ("voxel_m=1.0",)}


@dataclass(frozen=True)
class CaseStudyPlan:
    """Worlds, length of the walks, filters, knobs and variants of a case study."""

    easy: tuple[SeededWorld, ...] = EASY
    adversarial: tuple[SeededWorld, ...] = ADVERSARIAL
    swept: tuple[SeededWorld, ...] = (EASY[0], ADVERSARIAL[0])  # where knobs turn
    tried: tuple[SeededWorld, ...] = (EASY[0], *ADVERSARIAL[:2])  # where variants run
    walk_s: float = 70.0  # long enough to leave the clutter at the start of the smooth tunnel
    filters: tuple[str, ...] = tuple(FILTERS)
    sweep_only: tuple[str, ...] = ("kiss-icp",)  # only where knobs turn: slow, and without a belief
    knobs: tuple[Knob, ...] = KNOBS
    variants: tuple[Variant, ...] = VARIANTS
    noises: tuple[str, ...] = ("0.0001", "0.001", "0.01")  # R of the variants
    noise_swept: tuple[SeededWorld, ...] = ()  # where R alone turns, beside those that are swept
    family_noises: tuple[FamilyNoise, ...] = FAMILY_NOISES  # turned where knobs turn
    sensitivity: bool = True  # score every filter as it is under other choices, too

    @property
    def worlds(self) -> tuple[SeededWorld, ...]:
        """All tracks, each once."""
        every = (*self.easy, *self.adversarial, *self.swept, *self.tried, *self.noise_swept)
        return tuple(dict.fromkeys(every))

    @property
    def turning(self) -> tuple[SeededWorld, ...]:
        """Tracks on which some knob turns."""
        return tuple(dict.fromkeys((*self.swept, *self.noise_swept)))


FULL = CaseStudyPlan(noise_swept=(*EASY[1:], *ADVERSARIAL[1:]))
QUICK = CaseStudyPlan(
    easy=EASY[:1],
    adversarial=ADVERSARIAL[:1],
    swept=EASY[:1],
    tried=EASY[:1],
    walk_s=20.0,
    knobs=(
        Knob(NOISE_KNOB, ("0.0001", "0.001", "0.01"), "0.001"),
        Knob("voxel_m", ("0.5", "0.8", "1.2"), "0.5"),
        Knob("process_scale", ("1", "10"), "1"),
        Knob("iterations", ("1", "4"), "4"),
    ),
    family_noises=tuple(
        replace(each, knob=replace(each.knob, values=each.knob.values[1:4]))
        for each in FAMILY_NOISES
    ),
)


TRACKS = ("easy", "adversarial", "swept", "tried", "noise_swept")  # fields of a plan


def adapt_plan(
    plan: CaseStudyPlan, *, filters: Sequence[str] | None = None, seed: int = 1
) -> CaseStudyPlan:
    """The plan with other filters, and with all worlds drawn from other seeds."""
    if seed < 1:
        raise OptionError(f"a seed of the case study is 1 or more, not {seed}")
    names = tuple(dict.fromkeys(plan.filters if filters is None else filters))
    for name in names:
        filter_named(name)

    drawn: dict[str, Any] = {
        name: tuple(replace(each, seed=each.seed + seed - 1) for each in getattr(plan, name))
        for name in TRACKS
    }
    return replace(plan, filters=names, **drawn)


def filter_job(track: SeededWorld, name: str) -> Job:
    """A filter as the study sets it."""
    return Job(track, name, SETTINGS.get(name, ()))


def knob_jobs(plan: CaseStudyPlan, track: SeededWorld) -> Iterator[tuple[KnobSettings, Job]]:
    """Each knob over its values while the others are at their default, with all settings.

    Only R is turned on tracks of `noise_swept`, and nothing on others than those and the swept.
    """
    usual = {knob.name: knob.default for knob in plan.knobs}
    still = {NOISE_KNOB} if track in plan.noise_swept else set()
    turned = set(usual) if track in plan.swept else still
    for settings in one_at_a_time(plan.knobs):
        changed = {name: value for name, value in settings if value != usual[name]}
        if turned.issuperset(changed):
            words = tuple(f"{name}={value}" for name, value in changed.items())
            yield settings, Job(track, OWN_FILTER, words)


def family_jobs(
    plan: CaseStudyPlan, track: SeededWorld, family: FamilyNoise
) -> Iterator[tuple[KnobSettings, Job]]:
    """Another filter of the plan over its R, where knobs turn."""
    knob = family.knob
    if family.filter not in plan.filters or track not in plan.swept:
        return
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
    here = [name for name in plan.filters if name not in plan.sweep_only or track in plan.swept]
    jobs = [filter_job(track, name) for name in here]
    jobs += [job for each in plan.family_noises for _, job in family_jobs(plan, track, each)]
    if OWN_FILTER not in plan.filters:
        return tuple(dict.fromkeys(jobs))
    if track in plan.tried:
        jobs += [Job(track, OWN_FILTER, variant.settings) for variant in plan.variants]
    if track in plan.turning:
        jobs += [job for _, job in knob_jobs(plan, track)]
    if track in plan.swept:
        jobs += [job for each in plan.variants for _, job in variant_jobs(plan, track, each)]
    return tuple(dict.fromkeys(jobs))
