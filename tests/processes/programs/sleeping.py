"""Joined, and asleep."""

import os
import time

import effax

effax.distributed.initialize()
print("pid", os.getpid())
time.sleep(600)
