"""Programs over several processes, compared among them before each is run for the first time.

Collectives wait for all devices. Where one process runs another program than the others, or none,
they wait for ever, inside the runtime. So the first run of each executable that communicates is a
meeting: the processes tell each other a digest of its text, and those that differ the text itself.
Later runs are counted, and the last ones compared now and then, by a thread (effax.distributed).
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

import numpy as np

from effax.backends.xla import processes
from effax.backends.xla.placement import Placement
from effax.effects.errors import ProcessTimeoutError, ProgramDisagreementError
from effax.effects.frames import describe, user_frame

_LOCATION: Final = re.compile(r"\s*loc\(#loc\d+\)|^#loc.*\n?", re.MULTILINE)
_NAME: Final = re.compile(r"module @(\S+)")
_LARGEST: Final = 1 << 21
"""Bytes of compressed text that are sent: the service takes 4 MiB."""
_SECONDS: Final = 30
_COMMUNICATES: Final = re.compile(
    r"\b(all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|collective-broadcast"
    r"|ragged-all-to-all|send|recv)(-start)?\("
)
_REMEMBERED: Final = 256
_agreed: Final[set[str]] = set()


class _Launches:
    """The programs that processes have run together: how many, and the last of them.

    `told` and `seen` are the counts when others were last told, and when one last looked.
    """

    def __init__(self) -> None:
        self.count = 0
        self.recent: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self.told = self.seen = 0


_launches: Final[dict[tuple[int, ...], _Launches]] = {}


def watched(
    run: Callable[..., Any],
    text: str,
    placement: Placement,
    options: Mapping[str, Any],
    modules: Callable[[], Sequence[Any]],
    then: Callable[[Callable[..., Any]], None],
) -> Callable[..., Any]:
    """Return what runs an executable for the first time: after a meeting of its processes.

    One that does not communicate waits for nobody, and may be run by one process alone.

    Args:
      run: what runs it.
      text: its program.
      placement: the devices that it runs on.
      options: flags of the compiler.
      modules: gives the compiled modules.
      then: called with what is to run it from then on.
    """
    job = processes.current()
    if job is None:
        return run
    group = tuple(sorted({device.process_index for device in placement.devices}))

    def first(buffers: Sequence[Any], **keywords: Any) -> Any:
        later = run
        if any(_COMMUNICATES.search(module.to_string()) for module in modules()):
            later = _counted(run, group, _meet(job, text, placement, options, group))
        then(later)
        return later(buffers, **keywords)

    return first


def _counted(run: Callable[..., Any], group: tuple[int, ...], program: str) -> Callable[..., Any]:
    """Return what runs an executable, and notes that it does."""
    launches = _launches.setdefault(group, _Launches())
    note = launches.recent.append

    def counted(buffers: Sequence[Any], **keywords: Any) -> Any:
        launches.count = count = launches.count + 1
        note((count, program))
        return run(buffers, **keywords)

    return counted


def tell_launches(job: processes.Job) -> None:
    """Tell the other processes the last programs of this one."""
    for group, launches in tuple(_launches.items()):
        if launches.told != launches.count:
            launches.told = launches.count
            job.put(f"{_key(group)}/{job.index}", json.dumps(tuple(launches.recent)))


def _key(group: tuple[int, ...]) -> str:
    return f"launches/{zlib.crc32(repr(group).encode())}"


def is_waiting() -> bool:
    """Whether programs were run before this was last asked, and none since."""
    moved = False
    for launches in tuple(_launches.values()):
        moved |= launches.count != launches.seen
        launches.seen = launches.count
    return bool(_launches) and not moved


def different_order(job: processes.Job) -> str:
    """Describe where the programs of this process and of another part, or return "".

    The first process of each group is compared with, as far as it has told what it ran. Without
    such a comparison two programs in another order hang, or give the numbers of one to the other.
    """
    for group, launches in tuple(_launches.items()):
        leader = group[0]
        theirs = job.find(f"{_key(group)}/{leader}") if job.index != leader else None
        recent = dict(tuple(launches.recent))
        for number, program in json.loads(theirs or "[]"):
            mine = recent.get(number, program)
            if mine != program:
                return (
                    f"as program {number} over processes {[*group]}, {job.describe(leader)} has "
                    f"run {program.partition(' ')[2]!r}, and {job.describe(job.index)} "
                    f"{mine.partition(' ')[2]!r}: all processes must run the same programs in the "
                    "same order"
                )
    return ""


def _meet(
    job: processes.Job,
    text: str,
    placement: Placement,
    options: Mapping[str, Any],
    group: Sequence[int],
) -> str:
    """Raise `ProgramDisagreementError` where processes are about to run different programs.

    Returns the digest of the program, and its name.
    """
    named = _NAME.search(text)
    name = named[1].removeprefix("jit_").replace("_lambda_", "<lambda>") if named else "a program"
    # Leave out source locations: the same file may have another path on another machine.
    plain = _LOCATION.sub("", _NAME.sub("module", text, count=1))
    plain += f"devices {[device.id for device in placement.devices]}\n{dict(options)}"
    digest = hashlib.sha256(plain.encode()).hexdigest()
    program = f"{digest[:16]} {name}"
    if digest in _agreed or job.index not in group:
        # A program that was agreed on is compiled again where its executable was evicted; the other
        # processes may still have theirs and would not answer.
        return program
    try:
        different = job.compare("program", program, among=group)
    except ProcessTimeoutError as error:
        raise ProcessTimeoutError(
            f"{error}. This process came to run {name!r}, over devices of the processes {group}, "
            f"for the first time, at {describe(user_frame())}: all of them must run the same "
            "programs in the same order"
        ) from error
    if not different:
        _agreed.add(digest)
        return program
    leader, other = min(group), next(index for index in different if index != min(group))
    number = job.number("texts")
    if job.index in different:
        job.put_bytes(f"text/{number}/{job.index}", zlib.compress(plain.encode())[:_LARGEST])
    texts = [job.get_bytes(f"text/{number}/{index}", _SECONDS) for index in (leader, other)]
    job.wait("texts", _SECONDS, group)  # the first process to raise makes the others end
    names = [different[index].partition(" ")[2] for index in (leader, other)]
    raise ProgramDisagreementError(
        f"processes are about to run different programs over the same devices. "
        f"{job.describe(leader)} came to {names[0]!r}, and {job.describe(other)} to {names[1]!r}"
        f"{_first_difference(leader, other, texts)}\n"
        f"As process {leader} do all but {sorted(set(different) - {leader})}; this is process "
        f"{job.index}, at {describe(user_frame())}. All processes must run the same programs in "
        "the same order: look for shapes, branches or constants that depend on the process or its "
        "data, and for an order that is that of a set"
    )


def different_values(
    job: processes.Job,
    name: str,
    values: Sequence[tuple[str, np.ndarray[Any, Any]]],
    among: Sequence[int] | None = None,
) -> str:
    """Compare named values among processes; describe the first difference, or return "".

    All processes, or those `among`, call it alike. Digests are sent, so that large values cost
    little.
    """
    lines = []
    for label, value in values:
        digest = hashlib.sha256(np.ascontiguousarray(value).view(np.uint8).data).hexdigest()[:16]
        shown = f" = {value}" if value.ndim == 0 else ""
        lines.append(f"{label}: {value.dtype}{list(value.shape)}{shown} {digest}")
    found = job.compare(name, "\n".join(lines), among=among)
    if not found:
        return ""
    first = job.group(among)[0]
    expected = found.pop(first).splitlines()
    other, text = next(iter(found.items()))
    pairs = zip(expected, text.splitlines(), strict=False)
    one, two = next((pair for pair in pairs if pair[0] != pair[1]), ("leaves", "other leaves"))
    return (
        f"{job.describe(first)} has {one}, {job.describe(other)} has {two}; as process {first} do "
        f"all but {sorted(found)}"
    )


def refuse_different_values(values: Sequence[tuple[Any, Placement]]) -> None:
    """Raise `AssertionError` unless values that are to be put over processes are alike in them.

    Args:
      values: each value that this process has, and where it is to be put.
    """
    job = processes.current()
    if job is None or not values:
        return
    group = sorted({d.process_index for _, where in values for d in where.devices})
    if job.index not in group:
        return
    named = [(f"value {i}", np.asarray(x)) for i, (x, _) in enumerate(values)]
    found = different_values(job, "device_put", named, group)
    if found:
        raise AssertionError(
            f"a value passed to device_put is not the same on each process, and goes to devices of "
            f"several: {found}. Use make_array_from_process_local_data for parts of an array"
        )


def _first_difference(leader: int, other: int, texts: Sequence[bytes | None]) -> str:
    one, two = (_lines(text) for text in texts)
    for number, (a, b) in enumerate(zip_longest(one, two, fillvalue="(nothing)"), 1):
        if a != b:
            return (
                f"; the first difference is line {number}:\n"
                f"  process {leader}: {a.strip()[:500]}\n"
                f"  process {other}: {b.strip()[:500]}"
            )
    return ""


def _lines(text: bytes | None) -> list[str]:
    # A long text was cut at its end.
    return [] if text is None else zlib.decompressobj().decompress(text).decode().splitlines()
