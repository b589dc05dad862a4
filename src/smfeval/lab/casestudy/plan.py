"""What the case study runs: worlds, walks, filters, the knobs that turn and the variants."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from smfeval.compare.sweep_points import Settings
from smfeval.errors import OptionError
from smfeval.lab.filters.table import FILTERS, filter_named
from smfeval.lab.worlds import ADVERSARIAL, EASY, Chosen
from smfeval.study.sweep_plan import Knob, one_at_a_time

OWN = "ieskf"  # the filter whose knobs turn and whose updates are explained
SMOOTHER = "gtsam-smoother"
NOISE = "point_variance"  # R, the knob that every variant is swept over


@dataclass(frozen=True)
class Variant:
    """A change of the lab's own filter that lets residuals, or the user, speak of its noise."""

    name: str
    words: tuple[str, ...]  # its settings, as `name=value`


KNOBS = (
    Knob(NOISE, ("1e-05", "0.0001", "0.001", "0.01", "0.1"), "0.001"),
    Knob("voxel_m", ("0.3", "0.5", "0.8", "1.2"), "0.5"),
    Knob("process_scale", ("0.1", "1", "10"), "1"),
    Knob("iterations", ("1", "4", "10"), "4"),
)

# A displacement as large as typical faults make it: 3 mm and 0.15 degrees of extrinsic, 2 ms of
# clock at walking pace, 7 mm of range.
VARIANTS = (
    Variant("noise from residuals", ("noise=residuals",)),
    Variant("noise from innovations", ("noise=innovations",)),
    Variant("robust kernel", ("kernel=huber",)),
    Variant("observability test", ("observability=0.05",)),
    Variant("shared displacement", ("shared_m=0.005", "shared_rad=0.0025")),
)

# KISS-ICP at 1 % of its range, as it ships: finer voxels cost four times as much.
SETTINGS: dict[str, tuple[str, ...]] = {"kiss-icp": ("voxel_m=1.0",)}


@dataclass(frozen=True)
class Plan:
    """The whole study before anything has run."""

    easy: tuple[Chosen, ...] = EASY
    adversarial: tuple[Chosen, ...] = ADVERSARIAL
    swept: tuple[Chosen, ...] = (EASY[0], ADVERSARIAL[0])  # where knobs turn
    tried: tuple[Chosen, ...] = (EASY[0], *ADVERSARIAL[:2])  # where variants run
    walk_s: float = 70.0  # long enough to leave the clutter at the start of the smooth tunnel
    filters: tuple[str, ...] = tuple(FILTERS)
    spared: tuple[str, ...] = ("kiss-icp",)  # only where knobs turn: slow, and without a belief
    knobs: tuple[Knob, ...] = KNOBS
    variants: tuple[Variant, ...] = VARIANTS
    noises: tuple[str, ...] = ("0.0001", "0.001", "0.01")  # R of the variants

    @property
    def worlds(self) -> tuple[Chosen, ...]:
        """All tracks, each once."""
        return tuple(dict.fromkeys((*self.easy, *self.adversarial, *self.swept, *self.tried)))

    def set_of(self, chosen: Chosen) -> str:
        """Which set a track is of."""
        return "easy" if chosen in self.easy else "adversarial"


FULL = Plan()
QUICK = Plan(
    easy=EASY[:1],
    adversarial=ADVERSARIAL[:1],
    swept=EASY[:1],
    tried=EASY[:1],
    walk_s=20.0,
    knobs=tuple(
        replace(knob, values=values)
        for knob, values in zip(
            KNOBS,
            (("0.0001", "0.001", "0.01"), ("0.5", "0.8", "1.2"), ("1", "10"), ("1", "4")),
            strict=True,
        )
    ),
)


def planned(plan: Plan, *, filters: Sequence[str] | None = None, seed: int = 1) -> Plan:
    """The plan with other filters, and with all worlds drawn from other seeds."""
    if seed < 1:
        raise OptionError(f"a seed of the case study is 1 or more, not {seed}")
    names = tuple(dict.fromkeys(plan.filters if filters is None else filters))
    for name in names:
        filter_named(name)

    def drawn(tracks: tuple[Chosen, ...]) -> tuple[Chosen, ...]:
        return tuple(replace(each, seed=each.seed + seed - 1) for each in tracks)

    return replace(
        plan,
        filters=names,
        easy=drawn(plan.easy),
        adversarial=drawn(plan.adversarial),
        swept=drawn(plan.swept),
        tried=drawn(plan.tried),
    )


@dataclass(frozen=True)
class Job:
    """One run; only settings that differ from the filter's own are named."""

    track: Chosen
    filter: str
    words: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """Name of its files: ieskf_point_variance=0.01."""
        return "_".join((self.filter, *self.words))


def filter_job(track: Chosen, name: str) -> Job:
    """A filter as the study sets it."""
    return Job(track, name, SETTINGS.get(name, ()))


def knob_jobs(plan: Plan, track: Chosen) -> Iterator[tuple[Settings, Job]]:
    """Each knob over its values while the others are at their default, with all settings."""
    usual = {knob.name: knob.default for knob in plan.knobs}
    for settings in one_at_a_time(plan.knobs):
        words = tuple(f"{name}={value}" for name, value in settings if value != usual[name])
        yield settings, Job(track, OWN, words)


def variant_jobs(plan: Plan, track: Chosen, variant: Variant) -> Iterator[tuple[Settings, Job]]:
    """A variant over the noises that it is given."""
    for value in plan.noises:
        yield ((NOISE, value),), Job(track, OWN, (*variant.words, *_noise(plan, value)))


def jobs_of(plan: Plan, track: Chosen) -> tuple[Job, ...]:
    """All runs on a track, each once."""
    here = [name for name in plan.filters if name not in plan.spared or track in plan.swept]
    jobs = [filter_job(track, name) for name in here]
    if OWN not in plan.filters:
        return tuple(jobs)
    if track in plan.tried:
        jobs += [Job(track, OWN, variant.words) for variant in plan.variants]
    if track in plan.swept:
        jobs += [job for _, job in knob_jobs(plan, track)]
        jobs += [job for each in plan.variants for _, job in variant_jobs(plan, track, each)]
    return tuple(dict.fromkeys(jobs))


def _noise(plan: Plan, value: str) -> tuple[str, ...]:
    usual = next((knob.default for knob in plan.knobs if knob.name == NOISE), None)
    return () if value == usual else (f"{NOISE}={value}",)
