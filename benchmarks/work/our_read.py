"""A SQUARE file as a track."""

import sys

from smfeval import read

print(len(read(sys.argv[1])))
