#!/bin/bash
# A job of 4 machines with 8 GPUs each under Slurm: sbatch examples/processes/slurm.sh
#
# One process for each GPU. effax.distributed.initialize() reads SLURM_JOB_ID, SLURM_STEP_NODELIST,
# SLURM_NTASKS, SLURM_PROCID and SLURM_LOCALID, and takes the GPU of its rank on the machine.

#SBATCH --job-name=effax
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=8
#SBATCH --time=24:00:00
# SIGTERM two minutes before the end: all processes save after the same step, and leave. Submitted
# again, the job goes on from there.
#SBATCH --signal=TERM@120
#SBATCH --open-mode=append

set -euo pipefail

# A folder that all machines see.
FOLDER=${FOLDER:-$SCRATCH/effax-run}

# Proxies can keep the processes from finding each other.
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY

# Exit code 75: a process was lost, and the others ended. Start again, from the last checkpoint.
for attempt in 1 2 3 4 5; do
    code=0
    srun --kill-on-bad-exit=0 --wait=60 python examples/processes/train.py "$FOLDER" || code=$?
    [ "$code" -eq 0 ] && exit 0
    echo "attempt $attempt ended with code $code" >&2
done
exit "$code"
