"""absl flag set-up for running under pytest."""

import sys


def parse():
    from absl import flags

    if not flags.FLAGS.is_parsed():
        flags.FLAGS(sys.argv[:1], known_only=True)
