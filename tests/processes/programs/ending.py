"""Process 0 ends in the way that is asked for, while the others wait for it for ever."""

import os
import signal
import subprocess
import sys
import time

import effax

how = sys.argv[1]
attempt = int(os.environ["EFFAX_RESTARTS"])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("pid", os.getpid(), "attempt", attempt)
print("pid", child.pid)
if how != "unconnected":
    effax.distributed.initialize()
if effax.process_index() == 0 if how != "unconnected" else os.environ["EFFAX_PROCESS_ID"] == "0":
    if how in ("code", "unconnected"):
        os._exit(7)
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "error":
        raise ValueError("no more data")
    if how == "second attempt" and attempt == 1:
        print("well")
        child.kill()
        effax.distributed.shutdown()
        sys.exit()
    os._exit(7)
elif how == "second attempt" and attempt == 1:
    child.kill()
else:
    time.sleep(600)
