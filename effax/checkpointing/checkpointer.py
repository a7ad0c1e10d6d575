"""Checkpoints in a folder: written by all processes of a job, read by any number of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from effax.backends.xla import processes
from effax.checkpointing import tensor_files
from effax.checkpointing.pieces import Leaf, Piece, leaves_of, own_pieces, restored
from effax.effects.errors import CheckpointError
from effax.effects.tree import tree_leaves, tree_structure, tree_unflatten

_NAME: Final = re.compile(r"step-(\d+)")
_MANIFEST: Final = "manifest.json"
_PARTIAL: Final = ".partial"
_FORMAT: Final = 1


class Checkpointer:
    """Checkpoints of trees of arrays, one for each step, in a folder that all processes see.

    Every process of the job calls the same methods in the same order. Each writes the pieces of
    arrays on its own devices, of copies the first, to a file of its own; a checkpoint is there
    when all of it is on the disk, and not before. A process that dies while it writes leaves
    nothing that is taken for a checkpoint.

    Args:
      directory: the folder; it is made where it is not there.
      keep: how many checkpoints stay, the newest; None for all.

    >>> import tempfile, effax.numpy as jnp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpointer(folder)
    ...     checkpoints.save(10, {"w": jnp.arange(3.0), "step": 10})
    ...     checkpoints.restore({"w": jnp.zeros(3), "step": 0})
    (10, {'step': 10, 'w': Array([0., 1., 2.], dtype=float32)})
    """

    def __init__(self, directory: str | os.PathLike[str], *, keep: int | None = None) -> None:
        if keep is not None and keep < 1:
            raise ValueError(f"Checkpointer: keep must be at least 1 or None, got {keep}")
        self.directory = Path(directory)
        self.keep = keep
        self.directory.mkdir(parents=True, exist_ok=True)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="effax checkpoints")
        self._pending: Future[None] | None = None

    def save(self, step: int, tree: Any, *, wait: bool = True) -> None:
        """Write a checkpoint of a step, in place of one of that step if there is one.

        Args:
          step: its number, from 0.
          tree: arrays, in whatever sharding, and numbers. What is not spread over processes is
            taken to be the same in all of them.
          wait: whether to return when it is on the disk. Else it is written by a thread, from
            copies; `wait`, and the next `save`, raise what went wrong.

        Raises:
          TypeError: for a leaf that is no array or number.
          ProcessTimeoutError: where another process did not write its part in time.
        """
        if step < 0:
            raise ValueError(f"Checkpointer.save: step must not be negative, got {step}")
        self.wait()
        found = leaves_of(tree)
        leaves = [leaf for leaf, _ in found]
        tensors: dict[str, np.ndarray[Any, Any]] = {}
        about: dict[str, Any] = {}
        for number, (leaf, x) in enumerate(found):
            for name, start, data in own_pieces(leaf, x):
                tensors[name] = data
                about[name] = [number, start, data.shape]
        self._pending = self._writer.submit(self._write, step, leaves, tensors, about)
        if wait:
            self.wait()

    def wait(self) -> None:
        """Wait until what is being written is on the disk; raise what went wrong."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def steps(self) -> list[int]:
        """Return the steps of which there are checkpoints, in order."""
        found = (_NAME.fullmatch(entry.name) for entry in self.directory.iterdir())
        return sorted(int(match[1]) for match in found if match is not None)

    def restore(self, like: Any, step: int | None = None) -> tuple[int, Any] | None:
        """Read the newest checkpoint that is whole, or that of a step.

        Damaged ones are passed over with a warning, in all processes where one of them can't read
        its part, and the one before is read.

        Args:
          like: a tree of the same structure, shapes and dtypes, whose arrays (or
            `ShapeDtypeStruct`s) say where those that are read are to lie: on other meshes than
            they were written from, if so.
          step: the step.

        Returns:
          The step and the tree; None where there is no checkpoint.

        Raises:
          CheckpointError: where there are checkpoints, or there is one of `step`, and none can be
            read; it says why.
        """
        self.wait()
        steps = self._agreed_steps() if step is None else [step]
        reason = None
        for candidate in reversed(steps):
            tree, reason = self._attempt(candidate, like)
            if reason is None:
                return candidate, tree
            if step is None:
                warnings.warn(
                    f"the checkpoint of step {candidate} is not used: {reason}", stacklevel=2
                )
        if reason is not None:
            raise CheckpointError(f"no checkpoint in {self.directory} can be read: {reason}")
        return None

    # -- writing

    def _folder(self, step: int) -> Path:
        return self.directory / f"step-{step:09d}"

    def _write(
        self,
        step: int,
        leaves: Sequence[Leaf],
        tensors: dict[str, np.ndarray[Any, Any]],
        about: dict[str, Any],
    ) -> None:
        job = processes.current()
        index = 0 if job is None else job.index
        folder = self._folder(step)
        partial = folder.with_name(folder.name + _PARTIAL)
        if index == 0:
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
        self._meet(job, step, "begun")
        file = f"process-{index:05d}.safetensors"
        written = tensor_files.write(partial / file, tensors, about)
        if job is not None:
            job.put(f"checkpoint/{self._key(step)}/{index}", json.dumps(written))
        self._meet(job, step, "written")
        if index == 0:
            files = {file: written}
            for other, text in (
                {} if job is None else job.under(f"checkpoint/{self._key(step)}").items()
            ):
                files[f"process-{int(other):05d}.safetensors"] = json.loads(text)
            self._commit(step, partial, folder, files, leaves)
        self._meet(job, step, "there")

    def _key(self, step: int) -> str:
        return f"{zlib.crc32(str(self.directory).encode())}/{step}"

    def _meet(self, job: processes.Job | None, step: int, what: str) -> None:
        if job is not None:
            job.wait(f"the checkpoint of step {step} in {self.directory} is {what}")

    def _commit(
        self,
        step: int,
        partial: Path,
        folder: Path,
        files: dict[str, dict[str, int]],
        leaves: Sequence[Leaf],
    ) -> None:
        """Make what has been written a checkpoint: a manifest, and one change of a name."""
        absent = [file for file in files if not (partial / file).exists()]
        if absent:
            raise CheckpointError(
                f"{partial}: {absent} were written, and process 0 does not see them: the folder "
                "must be on a disk that all processes share"
            )
        body = json.dumps(
            {
                "format": _FORMAT,
                "step": step,
                "files": dict(sorted(files.items())),
                "leaves": [[leaf.path, leaf.shape, leaf.dtype] for leaf in leaves],
            },
            indent=1,
        )
        with (partial / _MANIFEST).open("w", encoding="utf-8") as manifest:
            manifest.write(f"{body}\n{zlib.crc32(body.encode())}\n")
            manifest.flush()
            os.fsync(manifest.fileno())
        _to_disk(partial)
        if folder.exists():
            old = folder.with_name(folder.name + ".old")
            folder.rename(old)
            partial.rename(folder)
            shutil.rmtree(old)
        else:
            partial.rename(folder)
        _to_disk(self.directory)
        for old_step in self.steps()[: -self.keep] if self.keep is not None else ():
            shutil.rmtree(self._folder(old_step))

    # -- reading

    def _agreed_steps(self) -> list[int]:
        """Return the steps that process 0 sees, so that all processes try the same."""
        job = processes.current()
        if job is None:
            return self.steps()
        key = f"checkpoints/{job.number('checkpoints')}"
        if job.index == 0:
            job.put(key, json.dumps(self.steps()))
        found: list[int] = json.loads(job.get(key, "the list of checkpoints of process 0"))
        return found

    def _attempt(self, step: int, like: Any) -> tuple[Any, str | None]:
        """Return the tree of a step, and why it can't be read in some process, or None."""
        tree, reason = None, ""
        try:
            tree = self._read(step, like)
        except CheckpointError as error:
            reason = str(error)
        job = processes.current()
        if job is None:
            return tree, reason or None
        said = job.compare("checkpoint", reason)
        others = [f"process {index}: {text}" for index, text in said.items() if text]
        return tree, (others[0] if others else reason) or None

    def _read(self, step: int, like: Any) -> Any:
        folder = self._folder(step)
        manifest = _manifest(folder / _MANIFEST)
        leaves = [Leaf(path, tuple(shape), dtype) for path, shape, dtype in manifest["leaves"]]
        pieces: list[list[Piece]] = [[] for _ in leaves]
        for name, expected in manifest["files"].items():
            file = tensor_files.TensorFile(folder / name, expected)
            for tensor, (number, start, shape) in file.about.items():
                pieces[number].append(Piece(file, tensor, tuple(start), tuple(shape)))
        wanted = leaves_of(like)
        here, there = ([leaf.path for leaf in xs] for xs in ([x for x, _ in wanted], leaves))
        if here != there:
            odd = sorted({*here} ^ {*there})
            raise CheckpointError(
                f"{folder} holds another tree than was asked for: {odd[:5]} are in only one of "
                "the two"
            )
        values = tree_leaves(like)
        made = [restored(*one) for one in zip(leaves, values, pieces, strict=True)]
        return tree_unflatten(tree_structure(like), made)


def _manifest(path: Path) -> Any:
    """Return what a manifest says. Raises `CheckpointError` where it is none, or damaged."""
    try:
        body, _, checksum = path.read_text(encoding="utf-8").strip().rpartition("\n")
    except OSError as error:
        raise CheckpointError(f"{path} can't be read: {error}") from error
    if not body or checksum != str(zlib.crc32(body.encode())):
        raise CheckpointError(f"{path} is damaged: its checksum does not match")
    found = json.loads(body)
    if found["format"] != _FORMAT:
        raise CheckpointError(
            f"{path} has the format {found['format']}, but this version of effax reads {_FORMAT}"
        )
    return found


def _to_disk(folder: Path) -> None:
    """Have the entries of a folder written to the disk itself."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
