"""The ROS 2 node of examples/, with a stub of rclpy in place of a running graph."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

NODE = Path(__file__).parents[2] / "examples" / "ros2_watch.py"
NOW_NS = 1_700_000_100 * 10**9


class Message(SimpleNamespace):
    """A message with whatever fields it is given, and a header."""

    def __init__(self, **fields):
        super().__init__(header=SimpleNamespace(stamp=None), **fields)


class StubNode:
    """What the node uses of rclpy: subscriptions and timers are kept, messages are collected."""

    def __init__(self, name):
        self.callbacks, self.published, self.timers = {}, [], []

    def create_subscription(self, kind, topic, callback, depth):
        self.callbacks[topic] = callback

    def create_publisher(self, kind, topic, depth):
        return SimpleNamespace(publish=self.published.append)

    def create_timer(self, period_s, callback):
        self.timers.append(callback)

    def get_clock(self):
        now = SimpleNamespace(nanoseconds=NOW_NS, to_msg=lambda: NOW_NS)
        return SimpleNamespace(now=lambda: now)


@pytest.fixture
def node(monkeypatch):
    status = type("DiagnosticStatus", (Message,), {"OK": 0, "WARN": 1, "ERROR": 2})
    modules = {
        "rclpy": {"init": None, "spin": None},
        "rclpy.node": {"Node": StubNode},
        "nav_msgs": {},
        "nav_msgs.msg": {"Odometry": Message},
        "diagnostic_msgs": {},
        "diagnostic_msgs.msg": {"DiagnosticArray": Message, "DiagnosticStatus": status,
                                "KeyValue": Message},
    }  # fmt: skip
    for name, members in modules.items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(NODE))["WatchNode"]()


def odometry(stamp_ns, position, sigma_m):
    pose = SimpleNamespace(
        position=SimpleNamespace(x=position[0], y=position[1], z=position[2]),
        orientation=SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0),
    )
    covariance = np.diag([sigma_m**2] * 3 + [1e-6] * 3).ravel().tolist()
    message = Message(pose=SimpleNamespace(pose=pose, covariance=covariance))
    message.header.stamp = SimpleNamespace(sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return message


def drive(node, rng, *, reported_m):
    """Two estimates with errors of 5 cm; returns the levels and messages of the diagnostics."""
    for scan in range(300):
        stamp = NOW_NS - 60 * 10**9 + scan * 10**8
        for topic in ("first", "second"):
            place = np.array([0.1 * scan, 0.0, 0.0]) + rng.normal(0, 0.05, 3)
            node.callbacks[topic](odometry(stamp, place, reported_m))
        if scan == 20:  # a stamp from the future, and one that comes again
            node.callbacks["second"](odometry(NOW_NS + 10**12, place, reported_m))
            node.callbacks["second"](odometry(stamp, place, reported_m))
        if scan % 10 == 9:
            node.timers[0]()
    return [message.status[0] for message in node.published]


def test_a_consistent_pair_is_ok_and_stamps_from_the_future_are_left_out(node, rng):
    node.timers[0]()
    assert (node.published[0].status[0].level, node.watch.matched) == (1, 0)
    told = drive(node, rng, reported_m=0.05)[1:]
    assert {status.level for status in told} == {0}
    assert "times the reported sigma" in told[-1].message
    assert node.watch.matched >= 295
    assert {each.key: each.value for each in told[-1].values}["left out for its stamp"] == "2"
    assert len(node.waiting["first"]) < 20  # nothing is kept for ever


def test_an_overconfident_pair_is_an_error(node, rng):
    told = drive(node, rng, reported_m=0.003)
    assert told[-1].level == 2
    assert told[-1].message.startswith("first or second is overconfident: 0.")
