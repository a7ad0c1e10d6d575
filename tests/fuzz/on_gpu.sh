#!/bin/bash
# On a machine with a GPU: the fuzz on the GPU beside the CPU, by PROCESSES for SECONDS each, and
# the checks of gpu_check meanwhile. Findings come together in $OUT.
set -u
processes=${1:-13} seconds=${2:-240} seed=${3:-1}
for i in $(seq "$processes"); do
	timeout $((seconds + 60)) python3 -m tests.fuzz --platform cuda --seconds "$seconds" \
		--seed $((seed * 1000 + i)) --into "/tmp/fuzz/$i" >"/tmp/fuzz-$i.log" 2>&1 &
done
XLA_PYTHON_CLIENT_PREALLOCATE=false timeout $((seconds + 60)) python3 -m benchmarks.gpu_check --quick >"$OUT/check.json" 2>"$OUT/check.err"
echo "gpu_check: $?"
wait
cat /tmp/fuzz/*/findings.jsonl >"$OUT/findings.jsonl" 2>/dev/null
cat /tmp/fuzz/*/forgiven.jsonl >"$OUT/forgiven.jsonl" 2>/dev/null
cat /tmp/fuzz/*/asked.jsonl >"$OUT/asked.jsonl" 2>/dev/null
tail -n 3 /tmp/fuzz-1.log
wc -l "$OUT"/*
