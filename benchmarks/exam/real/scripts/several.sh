#!/bin/sh
# Two trainings, one behind the other: of different sizes, as a study of batch sizes has them.
cd "$(dirname "$0")" || exit 1
python generator.py --seconds "$2" && python sweep.py --seconds "$2"
