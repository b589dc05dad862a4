"""`dataclass` as in the standard library, but cheap to define.

The standard one writes and compiles six methods for each frozen class, half a millisecond of every
start; the hundred classes on the way of `score` took as long as importing numpy. Here they share
theirs.
"""

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False):
        """Define a dataclass."""
        if cls is None:
            return lambda it: dataclass(it, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only)
        if not frozen:
            return dataclasses.dataclass(cls, eq=eq, repr=repr, kw_only=kw_only)
        methods = {"__init__": _init_of(cls), "__setattr__": _refuse, "__delattr__": _refuse}
        methods |= {"__eq__": _equal, "__hash__": _hash} if eq else {}
        methods |= {"__repr__": _repr} if repr else {}
        for name in methods.keys() - vars(cls).keys():
            setattr(cls, name, methods[name])
        return dataclasses.dataclass(cls, init=False, eq=False, repr=False, kw_only=kw_only)

    def _init_of(cls):
        """The constructor of a class, whose fields are asked for when it is first called."""
        known = None

        def __init__(self, *given, **named):  # noqa: N807
            nonlocal known
            known = known or _Constructor(cls)
            fields = vars(self)
            fields.update(known.values(given, named))
            if hasattr(self, "__post_init__"):
                self.__post_init__(*map(fields.pop, known.passed))

        return __init__

    INIT_VAR = dataclasses._FIELD_INITVAR  # noqa: SLF001  the library has no public name for it

    class _Constructor:
        """Turns arguments into fields."""

        def __init__(self, cls):
            self.name, annotated = cls.__qualname__, cls.__dataclass_fields__.values()
            passed = [each for each in annotated if each._field_type is INIT_VAR]  # noqa: SLF001
            self.passed = [each.name for each in passed]  # to `__post_init__`: they are no fields
            every = [*dataclasses.fields(cls), *passed]
            taken = [each for each in every if each.init]
            self.positional = [each.name for each in taken if not each.kw_only]
            self.names = {each.name for each in taken}
            self.defaults = {
                each.name: each.default for each in every if each.default is not dataclasses.MISSING
            }
            self.factories = {
                each.name: each.default_factory
                for each in every
                if each.default_factory is not dataclasses.MISSING
            }
            self.count = len(self.names | self.defaults.keys() | self.factories.keys())

        def values(self, given, named):
            """Fields and their values."""
            placed, few = self.positional[: len(given)], len(given) <= len(self.positional)
            found = self.defaults | dict(zip(placed, given, strict=False)) | named
            for name in self.factories.keys() - found.keys():
                found[name] = self.factories[name]()
            fits = few and named.keys() <= self.names and named.keys().isdisjoint(placed)
            if not fits or len(found) < self.count:
                raise TypeError(f"{self.name}({', '.join(self.positional)}) got other arguments")
            return found

    def _compared(self):
        return tuple(getattr(self, each.name) for each in dataclasses.fields(self) if each.compare)

    def _equal(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _compared(self) == _compared(other)

    def _hash(self):
        return hash(_compared(self))

    def _repr(self):
        shown = (each.name for each in dataclasses.fields(self) if each.repr)
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({inside})"

    def _refuse(self, name, *_):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
