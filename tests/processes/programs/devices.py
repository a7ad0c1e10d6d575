"""A process of a job prints its view of the others."""

import sys

import effax

effax.distributed.initialize()
print(f"{sys.argv[1:]} process {effax.process_index()} of {effax.process_count()}")
owners = [device.process_index for device in effax.devices()]
print(f"{effax.device_count()} devices, {effax.local_device_count()} here, owners {owners}")
print("on stderr", file=sys.stderr)
