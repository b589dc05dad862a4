"""What the case study runs: worlds, walks, filters, and the knobs that turn."""

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
NOISE_KNOB = "point_variance"  # R, the knob that turns on every track


class Turned(NamedTuple):
    """A filter, or a variant of the lab's own, whose knobs turn one at a time."""

    name: str
    filter: str
    knobs: tuple[Knob, ...]  # their defaults are the filter's own
    settings: tuple[str, ...] = ()  # those of a variant, as `name=value`
    everywhere: bool = True  # R turns on every track; else only where all knobs turn


NAMES = ("college_short", "tunnel_ribs", "college_loop", "tunnel", "corridor", "field", "park",
         "street", "campus")  # fmt: skip
FILTERS = (OWN_FILTER, "fast-lio2", "faster-lio", "point-lio", "i2ekf-lo", SMOOTHER, "glim-like")
NOISE = Knob(NOISE_KNOB, ("1e-05", "0.0001", "0.001", "0.01", "0.1"), "0.001")
POINT_NOISE = Knob(NOISE_KNOB, ("0.0001", "0.001", "0.01", "0.1", "1"), "0.01")
FEWER = replace(NOISE, values=NOISE.values[1:4])
VARIANTS = (
    Turned("noise from residuals", OWN_FILTER, (FEWER,), ("noise=residuals",)),
    # reported twice a second with all cross-covariances, so that a fit of the world is allowed for
    Turned(
        "map error carried",
        OWN_FILTER,
        (FEWER,),
        ("map_error=carried", "report_every=5", "cross_lags=1000"),
    ),
)
TURNED = (
    Turned(
        OWN_FILTER,
        OWN_FILTER,
        (
            NOISE,
            Knob("voxel_m", ("0.3", "0.5", "0.8", "1.2"), "0.5"),
            Knob("process_scale", ("0.1", "1", "10"), "1"),
            Knob("iterations", ("1", "4", "10"), "4"),
        ),
    ),
    # Sharper by two decades and wider by two: a filter that follows its points errs with R.
    Turned("fast-lio2", "fast-lio2", (NOISE,), everywhere=False),
    Turned("point-lio", "point-lio", (POINT_NOISE,), everywhere=False),
    *VARIANTS,
)


@dataclass(frozen=True)
class CaseStudyPlan:
    """Worlds, length of the walks, filters, and whose knobs turn."""

    worlds: tuple[SeededWorld, ...] = tuple(SeededWorld(name, 1) for name in NAMES)
    swept_worlds: int = 2  # the first ones, on which all knobs turn; on the others only R
    walk_s: float = 70.0  # long enough to leave the clutter at the start of the smooth tunnel
    filters: tuple[str, ...] = FILTERS
    turned: tuple[Turned, ...] = TURNED

    @property
    def swept(self) -> tuple[SeededWorld, ...]:
        """Tracks on which all knobs turn."""
        return self.worlds[: self.swept_worlds]

    def named_jobs(self, track: SeededWorld) -> dict[str, Job]:
        """Filters as they ship, and variants of the lab's own, by name."""
        variants = [each for each in self.turned if each.settings and each.filter in self.filters]
        return {name: Job(track, name) for name in self.filters} | {
            each.name: Job(track, each.filter, each.settings) for each in variants
        }

    def turned_jobs(self, who: Turned, track: SeededWorld) -> Iterator[tuple[KnobSettings, Job]]:
        """Each knob over its values while the others are at their default, with all settings."""
        if who.filter not in self.filters or not (who.everywhere or track in self.swept):
            return
        usual = {knob.name: knob.default for knob in who.knobs}
        turned = set(usual) if track in self.swept else {NOISE_KNOB}
        for settings in one_at_a_time(who.knobs):
            changed = {name: value for name, value in settings if value != usual[name]}
            if turned.issuperset(changed):
                words = (f"{name}={value}" for name, value in changed.items())
                yield settings, Job(track, who.filter, (*who.settings, *words))

    def jobs(self, track: SeededWorld) -> tuple[Job, ...]:
        """All runs on a track, each once."""
        turned = [job for who in self.turned for _, job in self.turned_jobs(who, track)]
        return tuple(dict.fromkeys([*self.named_jobs(track).values(), *turned]))


FULL = CaseStudyPlan()
QUICK = CaseStudyPlan(
    worlds=FULL.worlds[:2],
    swept_worlds=1,
    walk_s=20.0,
    turned=(
        Turned(
            OWN_FILTER,
            OWN_FILTER,
            (
                FEWER,
                Knob("voxel_m", ("0.5", "0.8", "1.2"), "0.5"),
                Knob("process_scale", ("1", "10"), "1"),
                Knob("iterations", ("1", "4"), "4"),
            ),
        ),
        Turned("fast-lio2", "fast-lio2", (FEWER,), everywhere=False),
        *VARIANTS,
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
