"""Executables kept on disk: compiling a single operation takes 24 ms, loading it 1 ms.

Two stores: one for eager operations and programs of `jit` that are short or slow to compile, on by
default, in the user's cache directory; and one for all programs of `jit`, where the setting
`compilation_cache_dir` names a directory. Entries are written atomically and carry a digest of
their key and contents; one that does not fit it is ignored, with a warning, and written anew. Many
processes may share a directory.

An entry is native code: loading it runs it. So a directory or an entry counts only if it belongs to
this user or to root and no one else may write to it.
"""

from __future__ import annotations

import logging
import os
import platform
import stat
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from effax.effects import config

_MAGIC: Final = b"effax executable 2\n"
_SUFFIX: Final = ".xla"
_WRITING: Final = ".writing-"
_SWEEP_EVERY: Final = 256
_EAGER_LIMIT: Final = 256 << 20
_ABANDONED: Final = 3600.0
_log: Final = logging.getLogger("effax")


class DiskCache:
    """Bytes under keys, in files of one directory, with a limit on their total size.

    Where the limit (in bytes, None for no limit) is passed, the entries longest unused go.
    """

    __slots__ = ("directory", "limit", "told", "trusted", "unswept", "writes")

    def __init__(self, directory: Path, limit: int | None = None) -> None:
        self.directory = directory
        self.limit = limit
        # Start at a number of its own, so that short-lived processes sweep too, and not all
        # together.
        self.writes = os.getpid() % _SWEEP_EVERY
        self.unswept = 0
        self.trusted = False
        self.told: set[int] = set()

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.directory / (key + _SUFFIX)

    def load(self, key: str) -> bytes | None:
        """The bytes under a key, or None; an entry that was damaged is dropped with a warning."""
        path = self.path(key)
        try:
            if not self._is_trusted():
                return None
            content = _read(path)
        except _UntrustedError as error:
            self._tell(logging.WARNING, f"the cached executable {path} is not used: {error}")
            return None
        except OSError:
            return None
        start = len(_MAGIC) + 32
        head, payload = content[:start], content[start:]
        if head != _MAGIC + _seal(key, payload):
            self.discard(key, "its contents do not fit their digest")
            return None
        with suppress(OSError):  # a read-only directory is a valid cache too
            os.utime(path)  # sweeps keep entries that were used recently
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Keep bytes under a key. Where the directory can't be written to, log that once."""
        # tempfile imports four compression modules, which reading an entry does not need.
        from tempfile import mkstemp

        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_trusted():
                return
            handle, name = mkstemp(prefix=_WRITING, dir=self.directory)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + _seal(key, payload) + payload)
                os.replace(name, self.path(key))
            except OSError:
                os.unlink(name)
                raise
        except OSError as error:
            self._tell(logging.INFO, f"can't keep executables in {self.directory}: {error}")
            return
        self.writes += 1
        self.unswept += len(payload)
        # A few large entries pass the limit long before there are many.
        much = self.limit is not None and self.unswept * 8 > self.limit
        if much or self.writes % _SWEEP_EVERY == 0:
            self.unswept = 0
            self.sweep()

    def discard(self, key: str, reason: str) -> None:
        """Drop an entry that is of no use, and say so."""
        path = self.path(key)
        with suppress(OSError):  # an entry that stays will be ignored again
            path.unlink(missing_ok=True)
        message = f"the cached executable {path} is ignored: {reason}"
        if config.read("raise_persistent_cache_errors"):
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=2)

    def sweep(self) -> None:
        """Drop the entries longest unused until what remains is well below the limit."""
        if self.limit is None:
            return
        for path in self.directory.glob(f"{_WRITING}*"):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - _ABANDONED:
                    path.unlink()  # the process that wrote it died
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

    def _is_trusted(self) -> bool:
        """Whether no other user can have written to the directory; looked up until it is so."""
        if not self.trusted:
            objection = _objection(os.stat(self.directory))
            if objection:
                self._tell(
                    logging.WARNING,
                    f"executables are not kept in {self.directory}: {objection}; "
                    "use a directory of your own, without write access for others (chmod go-w)",
                )
            self.trusted = not objection
        return self.trusted

    def _tell(self, level: int, message: str) -> None:
        """Log what keeps the cache from working, once for each level; or raise, where asked."""
        if config.read("raise_persistent_cache_errors"):
            raise RuntimeError(message)
        if level not in self.told:
            self.told.add(level)
            _log.log(level, message)


class _UntrustedError(Exception):
    """A file that another user may have written."""


def _objection(status: os.stat_result) -> str:
    """Why the owner or the mode of a file or directory is no reason for trust; "" if it is one."""
    if not hasattr(os, "geteuid"):
        return ""  # Windows keeps permissions in access lists, which `stat` does not show
    if status.st_uid not in (os.geteuid(), 0):
        return f"it belongs to user {status.st_uid}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"its mode {stat.S_IMODE(status.st_mode):o} lets other users write to it"
    return ""


def _read(path: Path) -> bytes:
    """The bytes of a regular file; raises `_UntrustedError` if others may have written them."""
    # A link could lead out of the directory, and opening a pipe would block until someone writes.
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, os.O_RDONLY | flags), "rb") as file:
        status = os.fstat(file.fileno())
        objection = _objection(status)
        if not stat.S_ISREG(status.st_mode):
            objection = "it is not a regular file"
        if objection:
            raise _UntrustedError(objection)
        return file.read()


def _seal(key: str, payload: bytes) -> bytes:
    """The digest of an entry: of its key too, so that no entry passes for another."""
    return bytes(_sha256(key.encode() + b"\n" + payload).digest())


def _sha256(content: bytes = b"") -> Any:
    from hashlib import sha256  # hashlib imports OpenSSL, which takes time

    return sha256(content)


def digest(parts: Iterable[bytes | str]) -> str:
    """A key for the disk: the digest of all that an executable depends on, the machine included."""
    found = _sha256()
    for part in (_MAGIC, _machine(), *parts):
        encoded = part.encode() if isinstance(part, str) else part
        found.update(len(encoded).to_bytes(8, "little"))
        found.update(encoded)
    return found.hexdigest()


@lru_cache(1)
def _machine() -> str:
    """Return the facts of this machine on which compiled code depends: processor model and
    features.
    """
    facts = [platform.machine(), platform.system(), os.environ.get("XLA_FLAGS", "")]
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                name = line.partition(":")[0].strip()
                if name in ("model name", "flags", "Features", "CPU part"):
                    facts.append(line.strip())
                elif not name and len(facts) > 3:
                    break  # the facts of the first processor are enough
    except OSError:
        facts.append(platform.processor())
    return "\n".join(facts)


@lru_cache(8)
def _cache(directory: str, limit: int | None) -> DiskCache:
    return DiskCache(Path(directory), limit)


def eager_cache() -> DiskCache | None:
    """The store of eager operations and called programs; None where `eager_cache` turns it off."""
    if not config.read("eager_cache"):
        return None
    return _cache(config.read("eager_cache_dir") or _user_directory(), _EAGER_LIMIT)


def _user_directory() -> str:
    """The user's cache directory, as the XDG Base Directory Specification finds it.

    Variables that are empty or no absolute path are ignored. Without a home directory it is one
    in the temporary directory, by the user's number: whether it is private is checked as always.
    """
    chosen = _absolute("EFFAX_CACHE_DIR")
    if chosen:
        return chosen
    base = _absolute("XDG_CACHE_HOME")
    if base:
        return os.path.join(base, "effax")
    if not hasattr(os, "geteuid"):
        return os.path.join(os.path.expanduser("~"), ".cache", "effax")
    home = _absolute("HOME")
    if home and home != "/":  # containers give `/` to unknown users
        return os.path.join(home, ".cache", "effax")
    from tempfile import gettempdir

    return os.path.join(gettempdir(), f"effax-{os.geteuid()}")


def _absolute(variable: str) -> str:
    value = os.environ.get(variable, "")
    return value if os.path.isabs(value) else ""


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
