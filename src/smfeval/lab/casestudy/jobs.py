"""The runs that a plan asks for: a filter with some settings changed, on a track."""

from collections.abc import Iterator
from dataclasses import dataclass

from smfeval.compare.sweep.points import Settings
from smfeval.lab.casestudy.plan import NOISE, OWN, SETTINGS, Plan, Variant
from smfeval.lab.worlds import Chosen
from smfeval.study.sweep_plan import one_at_a_time


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
