"""Executables kept on disk: compiling a single operation takes 24 ms, loading it 1 ms.

Two stores: one for eager operations and short programs of `jit`, on by default, in the user's cache
directory; and one for all programs of `jit`, where the setting `compilation_cache_dir` names a
directory. Entries are
written atomically and carry a digest; one that does not fit it is ignored, with a warning, and
written anew. Many processes may share a directory.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from effax.effects import config

_MAGIC: Final = b"effax executable 1\n"
_SUFFIX: Final = ".xla"
_WRITING: Final = ".writing-"
_SWEEP_EVERY: Final = 256
_EAGER_LIMIT: Final = 256 << 20
_ABANDONED: Final = 3600.0


class DiskCache:
    """Bytes under keys, in files of one directory, with a limit on their total size.

    Where the limit (in bytes, None for no limit) is passed, the entries longest unused go.
    """

    __slots__ = ("directory", "limit", "unswept", "writes")

    def __init__(self, directory: Path, limit: int | None = None) -> None:
        self.directory = directory
        self.limit = limit
        # Processes that write little sweep seldom, and not all at the same entry.
        self.writes = os.getpid() % _SWEEP_EVERY
        self.unswept = 0

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.directory / (key + _SUFFIX)

    def load(self, key: str) -> bytes | None:
        """The bytes under a key, or None; an entry that was damaged is dropped with a warning."""
        path = self.path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + 32
        head, payload = content[:start], content[start:]
        if head != _MAGIC + _sha256(payload).digest():
            self.discard(key, "its contents do not fit their digest")
            return None
        with suppress(OSError):  # a directory that can only be read is a good cache too
            os.utime(path)  # so that what is used stays
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Keep bytes under a key. Where the directory can't be written to, warn and go on."""
        from tempfile import mkstemp  # with four ways to compress, which reading needs not

        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = mkstemp(prefix=_WRITING, dir=self.directory)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _sha256(payload).digest() + payload)
                os.replace(name, self.path(key))
            except OSError:
                os.unlink(name)
                raise
        except OSError as error:
            self._complain(f"can't keep an executable in {self.directory}: {error}")
            return
        self.writes += 1
        self.unswept += len(payload)
        # Large entries pass the limit long before there are many.
        much = self.limit is not None and self.unswept * 8 > self.limit
        if much or self.writes % _SWEEP_EVERY == 0:
            self.unswept = 0
            self.sweep()

    def discard(self, key: str, reason: str) -> None:
        """Drop an entry that is of no use, and say so."""
        self._complain(f"the cached executable {self.path(key)} is ignored: {reason}")
        with suppress(OSError):  # or it is ignored again
            self.path(key).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Drop the entries longest unused until what remains is well below the limit."""
        if self.limit is None:
            return
        for path in self.directory.glob(f"{_WRITING}*"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - _ABANDONED:
                    path.unlink()  # its writer died
        entries = []
        for path in self.directory.glob(f"*{_SUFFIX}"):
            try:
                status = path.stat()
            except OSError:
                continue  # another process swept at the same time
            entries.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in sorted(entries):
            try:
                path.unlink(missing_ok=True)
            except OSError:
                continue
            total -= size
            if total <= self.limit * 3 // 4:
                break

    @staticmethod
    def _complain(message: str) -> None:
        if config.read("raise_persistent_cache_errors"):
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=3)


def _sha256(content: bytes = b"") -> Any:
    from hashlib import sha256  # OpenSSL, that is

    return sha256(content)


def digest(parts: Iterable[bytes | str]) -> str:
    """A key for the disk: the digest of all that an executable depends on, the machine included."""
    found = _sha256()
    for part in (_machine(), *parts):
        encoded = part.encode() if isinstance(part, str) else part
        found.update(len(encoded).to_bytes(8, "little"))
        found.update(encoded)
    return found.hexdigest()


@lru_cache(1)
def _machine() -> str:
    """What of this machine compiled code depends on: the processor's model and its features."""
    facts = [platform.machine(), platform.system(), os.environ.get("XLA_FLAGS", "")]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name = line.partition(":")[0].strip()
                if name in ("model name", "flags", "Features", "CPU part"):
                    facts.append(line.strip())
                elif not name and len(facts) > 3:
                    break  # the first processor says it for all
    except OSError:
        facts.append(platform.processor())
    return "\n".join(facts)


@lru_cache(8)
def _cache(directory: str, limit: int | None) -> DiskCache:
    return DiskCache(Path(directory), limit)


def eager_cache() -> DiskCache | None:
    """The store of eager operations and short programs; None where `eager_cache` turns it off."""
    if not config.read("eager_cache"):
        return None
    chosen = config.read("eager_cache_dir") or os.environ.get("EFFAX_CACHE_DIR")
    if chosen is None:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        chosen = os.path.join(home, "effax")
    return _cache(chosen, _EAGER_LIMIT)


def program_cache() -> DiskCache | None:
    """The store of programs of `jit`; None where no directory was named for it."""
    chosen = config.read("compilation_cache_dir")
    if chosen is None or not config.read("enable_compilation_cache"):
        return None
    limit = int(config.read("compilation_cache_max_size"))
    return _cache(chosen, limit if limit >= 0 else None)


def reset() -> None:
    """Forget the directories that were opened: each is opened again when it is needed."""
    _cache.cache_clear()
