"""A study: k of two estimators on five tracks, a box each."""

from world import honest, overconfident

from smfeval.show.figures import draw, save

study = {}
for name, run in {"honest": honest, "overconfident": overconfident}.items():
    numbers = [run(seed=seed)["k"] for seed in range(5)]
    study[name] = [(f"drive {i + 1}", k.value, k.low, k.high) for i, k in enumerate(numbers)]
save({"spread": draw("spread", study)}, "spread.svg")
