"""Verbs of the command line. Each file: flags, one call, one show, an exit code."""
