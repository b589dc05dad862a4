"""The text of a plan: TOML with comments that say what may be changed."""

import json
import re
from itertools import groupby

from smfeval.io.presets import PRESETS, Preset
from smfeval.study.layout_files import Seen, SeenEstimator, SeenTrack
from smfeval.study.plan import DIVERGED_M

HEAD = """\
# A study: every estimator on every track. Run it with `smfeval study` and the name of this file.
# Relative paths start at the folder of this file. In them {{track}} and {{group}} are filled in;
# a star finds several runs of one estimator on one track, which count as repeats.
# An estimator with role = "baseline" is shown and competes with nobody.

name = {name}
output = {output}  # a folder for tables, scores and the cache
pairs = true  # every two estimators against each other, too: no reference is needed for that
diverged_m = {diverged:g}  # m; a track with a larger mean error counts as lost

[options]  # as the flags of `smfeval score`
# gauge = "se3"  # how worlds are aligned; without it, by the gauge that each estimate declares
# tolerance = "5ms"  # between the stamps of a scan and of its reference
# axes = "xyz"
# seed = 0
"""
DIFFERENT_GAUGES = """\
# The presets below declare different gauges ({gauges}): estimators are then aligned with
# different freedoms, and fewer freedoms leave larger errors. A gauge here aligns all alike.
"""
BARE = re.compile(r"[^a-z0-9]")
FEWEST_LETTERS = 4  # that the name of an estimator shares with a preset


def plan_text(seen: Seen, name: str, start: str) -> str:
    """The whole plan; `start` is how the plan calls the folder."""
    head = HEAD.format(name=quoted(name), output=quoted(f"{name}_results"), diverged=DIVERGED_M)
    entries = groupby(seen.tracks, key=lambda each: (each.group, each.reference, each.body))
    blocks = [
        head + _gauges(seen),
        *(_tracks(list(each), start) for _, each in entries),
        *(_estimator(each, seen, start) for each in seen.estimators),
    ]
    return "\n".join(blocks)


def _gauges(seen: Seen) -> str:
    """A warning where known estimators leave different freedoms open."""
    presets = [guessed_preset(each.name) for each in seen.estimators]
    gauges = sorted({preset.gauge for preset in presets if preset and preset.gauge})
    return DIFFERENT_GAUGES.format(gauges=", ".join(gauges)) if len(gauges) > 1 else ""


def quoted(text: str) -> str:
    """A text as TOML writes it: JSON's escapes are valid there."""
    return json.dumps(text, ensure_ascii=False)


def guessed_preset(name: str) -> Preset | None:
    """The known estimator that a name seems to mean: fastlio2_tuned is fast-lio2."""
    bare = BARE.sub("", name.casefold())
    known = {BARE.sub("", each): preset for each, preset in PRESETS.items()}
    if bare in known:
        return known[bare]
    inside = [each for each in known if bare.startswith(each)]
    longer = [each for each in known if each.startswith(bare) and len(bare) >= FEWEST_LETTERS]
    if inside:
        return known[max(inside, key=len)]
    return known[longer[0]] if len(longer) == 1 else None


def own_reference(preset: Preset, seen: Seen) -> str | None:
    """The pattern of references about the body of a known estimator."""
    found = {each for track in seen.tracks for body, each in track.others if body == preset.body}
    return found.pop() if len(found) == 1 else None


def unused_references(seen: Seen) -> list[str]:
    """Patterns of references that no estimator is compared with."""
    presets = [guessed_preset(each.name) for each in seen.estimators]
    used = {own_reference(preset, seen) for preset in presets if preset is not None}
    others = dict.fromkeys(pattern for track in seen.tracks for _, pattern in track.others)
    return [pattern for pattern in others if pattern not in used]


def _tracks(tracks: list[SeenTrack], start: str) -> str:
    first = tracks[0]
    lines = ["[[tracks]]"]
    lines += [f"group = {quoted(first.group)}"] if first.group else []
    lines += _names([each.name for each in tracks])
    lines.append(f"reference = {quoted(_from(start, first.reference))}")
    if first.body:
        lines.append(f"body = {quoted(first.body)}  # as the name of the reference says")
    return "\n".join(lines) + "\n"


def _names(names: list[str]) -> list[str]:
    if len(names) == 1:
        return [f"name = {quoted(names[0])}"]
    one_line = f"names = [{', '.join(map(quoted, names))}]"
    if len(one_line) <= 100:
        return [one_line]
    return ["names = [", *(f"  {quoted(name)}," for name in names), "]"]


def _estimator(each: SeenEstimator, seen: Seen, start: str) -> str:
    preset = guessed_preset(each.name)
    lines = [
        "[[estimators]]",
        f"name = {quoted(each.name)}",
        f"path = {quoted(_from(start, each.path))}",
    ]
    if preset is not None:
        lines.append(f"preset = {quoted(preset.name)}  # guessed from the name: please check")
        lines += _own_reference(preset, seen, start)
    return "\n".join(lines) + "\n"


def _own_reference(preset: Preset, seen: Seen, start: str) -> list[str]:
    """Lines that choose the reference about the body of the estimator, if there is one."""
    own = own_reference(preset, seen)
    if own is None or preset.body is None:
        return []
    return [
        f"# its poses are about {preset.body}, so it has another reference than the tracks say",
        f"reference = {quoted(_from(start, own))}",
        f"reference_body = {quoted(preset.body)}",
        '# pair_extrinsic = "x,y,z,qx,qy,qz,qw"  # pose of the tracks\' body in its own, for pairs',
    ]


def _from(start: str, pattern: str) -> str:
    return pattern if start in ("", ".") else f"{start.rstrip('/')}/{pattern}"
