"""In whose programs a mutant is looked for: the lock of the header, or two or three locks that use
the part. A part of a header that only a variant compiles is looked for in that variant."""

import re

# By header, the locks that use it in different ways.
_USERS: dict[str, tuple[str, ...]] = {
    "monitor/handler.h": ("lifted",),
    "monitor/handshake.h": ("reservation",),
    "monitor/monitor.h": ("naive", "tasuki", "relaxed"),
    "monitor/monitor_table.h": ("monitor_table", "tasuki"),
    "monitor/mutex.h": ("lifted:explicit", "io_spin"),
    "monitor/park.h": ("revocable", "naive", "meta"),
    "monitor/processor.h": (),
    "monitor/recycling.h": ("monitor_cache", "hot"),
    "parts/back_off.h": ("dekker",),
    "parts/named_monitor.h": ("relaxed", "to_lock"),
    "parts/queued_core.h": ("renouncement", "handover", "tnp_selective"),
    "parts/record_pool.h": ("mcs", "meta"),
    "parts/reservation_cancel.h": ("reservation",),
    "parts/reservation_word.h": ("reservation",),
    "parts/revocable_monitor.h": ("revocable", "revocable:unmodified"),
    "parts/revocable_sections.h": ("revocable",),
    "parts/revocable_state.h": ("revocable",),
    "parts/tasuki_acquire.h": ("tasuki", "reservation"),
    "parts/tasuki_core.h": ("tasuki", "asym_tasuki"),
    "parts/tasuki_spin.h": ("tasuki", "reservation"),
    "parts/without_wait.h": ("cas_spin",),
}
_VARIANT = re.compile(r"^LOCKCROSS_VARIANT_(\w+)$")
# Conditions that hold in no program of a model: threads that share processors, signals.
_NOT_MODELLED = (
    "defined LOCKCROSS_SCHEDULER", "RESERVATION_BY_SIGNAL", "not !RESERVATION_BY_SIGNAL",
)  # fmt: skip


def conditions_at(source: str, position: int) -> tuple[str, ...]:
    """The preprocessor's conditions that a place is under, the outermost first; `not ...` for what
    stands behind an #else."""
    stack: list[str] = []
    for line in source[:position].splitlines():
        words = line.split(None, 1)
        rest = words[1].strip() if len(words) > 1 else ""
        match words[0] if words else "":
            case "#if":
                stack.append(rest)
            case "#ifdef":
                stack.append(f"defined {rest}")
            case "#ifndef":
                stack.append(f"not defined {rest}")
            case "#elif":
                stack[-1] = rest
            case "#else":
                stack[-1] = f"not {stack[-1]}"
            case "#endif":
                stack.pop()
    return tuple(stack)


def targets_of(file: str, source: str, position: int) -> tuple[str, ...]:
    """Locks, with the variant behind a colon; none where no program of a model has the code."""
    locks = _USERS.get(file) or (file.removeprefix("locks/").removesuffix(".h"),)
    if file == "monitor/processor.h":
        return ()
    conditions = conditions_at(source, position)
    if any(condition in _NOT_MODELLED for condition in conditions):
        return ()
    for condition in conditions:
        variant = _VARIANT.match(condition)
        if variant:
            return tuple(f"{lock}:{variant[1].lower()}" for lock in locks)
    return locks
