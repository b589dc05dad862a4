"""Our dataclass is the standard library's, to all who use one."""

import dataclasses
import pickle
from dataclasses import FrozenInstanceError, InitVar, asdict, field, fields, replace
from functools import cached_property
from typing import ClassVar

import pytest

from smfeval.dataclass import dataclass


def made_by(decorator):
    @decorator(frozen=True)
    class Point:
        x: int
        y: float = 2.0
        names: list = field(default_factory=list)
        quiet: int = field(default=0, repr=False, compare=False)
        late: int = field(default=5, kw_only=True)

        @cached_property
        def doubled(self):
            return 2 * self.x

    return Point


Ours, Theirs = made_by(dataclass), made_by(dataclasses.dataclass)


@dataclass(frozen=True)
class Base:
    a: int

    def __post_init__(self):
        object.__setattr__(self, "a", abs(self.a))


@dataclass(frozen=True, kw_only=True)
class Derived(Base):
    b: int = 1


def test_fields_repr_equality_and_hash_are_those_of_the_library():
    for give in ((1,), (1, 3.0), (1, 3.0, ["n"], 7)):
        ours, theirs = Ours(*give, late=6), Theirs(*give, late=6)
        assert asdict(ours) == asdict(theirs)
        assert repr(ours) == repr(theirs)
    assert [each.name for each in fields(Ours)] == [each.name for each in fields(Theirs)]
    assert Ours(1, quiet=3) == Ours(1, quiet=4) != Ours(2)
    assert Ours(1) != Theirs(1)
    assert Ours(1).names is not Ours(1).names
    assert hash(Base(2)) == hash(Base(-2)) != hash(Base(3))


def test_replace_pickle_inheritance_and_cached_properties_work():
    one = Derived(-3, b=4)
    assert (one.a, one.b) == (3, 4)
    assert replace(one, b=5) == Derived(3, b=5)
    assert pickle.loads(pickle.dumps(one)) == one
    assert Ours(4).doubled == 8


def test_arguments_that_are_no_fields_reach_post_init_alone():
    @dataclass(frozen=True)
    class Scaled:
        x: float
        by: InitVar[float] = 2.0
        unit: ClassVar[str] = "m"

        def __post_init__(self, by):
            object.__setattr__(self, "x", by * self.x)

    assert [each.name for each in fields(Scaled)] == ["x"]
    assert vars(Scaled(1.0, by=3.0)) == {"x": 3.0}
    assert replace(Scaled(1.0), by=5.0).x == 10.0


@pytest.mark.parametrize(
    "call",
    [Ours, lambda: Ours(1, x=2), lambda: Ours(1, z=2), lambda: Ours(1, 2, [], 0, 9)],
)
def test_wrong_arguments_are_refused(call):
    with pytest.raises(TypeError, match=r"Point\(x, y, names, quiet\)"):
        call()


def test_nothing_is_assigned_or_deleted():
    point = Ours(1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2
    with pytest.raises(FrozenInstanceError):
        del point.x
