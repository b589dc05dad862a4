"""BENCHMARK: recordings that are frozen, contenders that run on them, and their leaderboard."""
