"""A ROS 2 node that warns while the robot drives: is one of two estimates overconfident?

    python3 ros2_watch.py --ros-args -r first:=/odometry/filtered -r second:=/lio/odometry

Both topics are nav_msgs/Odometry. Once a second it publishes diagnostic_msgs/DiagnosticArray on
/diagnostics: OK, or ERROR from the first alarm on. It is `smfeval watch A B` as a node.
"""

from math import sqrt

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from nav_msgs.msg import Odometry
from rclpy.node import Node

from smfeval import BeliefWatch, from_arrays

FUTURE_NS = 10_000_000_000  # a stamp so far ahead of the clock is an error of the clock


class WatchNode(Node):
    """Two streams of beliefs, compared where both have reached."""

    def __init__(self):
        super().__init__("smfeval_watch")
        self.watch = BeliefWatch()  # axes="xy" for a robot on a plane
        self.waiting = {"first": [], "second": []}
        self.left_out = 0
        for topic in self.waiting:
            self.create_subscription(Odometry, topic, self.keeper(topic), 100)
        self.diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self.create_timer(1.0, self.compare)

    def keeper(self, topic):
        """Keep a message until the other topic has reached its stamp."""

        def keep(message):
            stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            rows, now = self.waiting[topic], self.get_clock().now().nanoseconds
            if stamp > now + FUTURE_NS or (rows and stamp <= rows[-1][0]):
                self.left_out += 1
                return
            pose = message.pose.pose
            p, q = pose.position, pose.orientation
            rows.append((stamp, (p.x, p.y, p.z, q.x, q.y, q.z, q.w), message.pose.covariance))

        return keep

    def compare(self):
        """Weigh the scans that both have, and tell."""
        if all(self.waiting.values()):
            first, second = (
                from_arrays(
                    [row[0] for row in rows],
                    [row[1] for row in rows],
                    [[list(row[2][i : i + 6]) for i in range(0, 36, 6)] for row in rows],
                    convention="ros",
                    name=topic,
                )
                for topic, rows in self.waiting.items()
            )
            self.watch, done, unneeded = self.watch.advance(first, second)
            del self.waiting["first"][:done]
            del self.waiting["second"][: min(unneeded, len(second) - 1)]
        self.tell()

    def tell(self):
        """Publish where the watch stands; nothing compared is no OK."""
        watch, process = self.watch, self.watch.process
        status = DiagnosticStatus(name="smfeval: consistency", hardware_id="smfeval")
        if watch.last_nees is None:
            status.level, status.message = DiagnosticStatus.WARN, "nothing was compared yet"
        else:
            factor = sqrt(watch.last_nees / len(watch.axes))
            status.level = DiagnosticStatus.ERROR if process.alarm else DiagnosticStatus.OK
            status.message = (
                f"{'first or second is overconfident: ' if process.alarm else ''}"
                f"{watch.last_error_m:.2f} m apart, {factor:.1f} times the reported sigma"
            )
        numbers = {
            "scans": watch.matched,
            "evidence": f"{process.evidence:.3g}",
            "alarm at": f"{process.limit:.3g}",
            "unmatched": watch.unmatched,
            "singular covariance": watch.singular,
            "left out for its stamp": self.left_out,
        }
        status.values = [KeyValue(key=key, value=str(value)) for key, value in numbers.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = self.get_clock().now().to_msg()
        self.diagnostics.publish(message)


def main():
    """Run until it is stopped."""
    rclpy.init()
    rclpy.spin(WatchNode())


if __name__ == "__main__":
    main()
