"""The definitions of C headers and their uses in C files, as far as their text shows."""

import re
from collections.abc import Mapping
from pathlib import Path

# A header that stands for others: whoever includes it may use what they define.
EXPORTS = {
    "arch/arch.h": r"arch/(x86_64|ppc64le|aarch64|order_|latency|model|process_barrier).*",
    "arch/latency.h": r"arch/latency_.*",
    "arch/restartable.h": r"arch/restartable_.*",
    "lock.h": r"(types|host|safepoint|locks/\w+|parts/re(vocable_sections|servation_cancel))\.h",
    "locks/revocable.h": r"parts/revocable_sections\.h",
    "types.h": r"host\.h",
}
# What C's own headers define, of that which is used here.
STANDARD = {
    "stdbool.h": {"bool", "true", "false"},
    "stdint.h": {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    | {"uintptr_t", "UINT32_MAX", "UINT64_MAX"},
}

_DEFINED = (
    r"#define (\w+)",
    r"^\} *(\w+);",  # of typedef
    r"^typedef [^{;]*?\b(\w+)(?:\([^;]*\))?;",
    r"^extern [^;]*?\b(\w+)(?:\[[^;]*)?;",
    # of a function
    r"^(?!typedef|extern|enum|return|struct)[A-Za-z_][^;={}#]*?\b(\w+)\([^;{}]*\)\s*[{;]",
    r"\bLOCKCROSS_CAS\((\w+)",
    r"\bLOCKCROSS_XCHG\((\w+)",
)


def code(text: str) -> str:
    """C without comments and strings, a line each."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r'(?<!include )"(\\.|[^"\\\n])*"', '""', text)


def included(text: str) -> set[str]:
    """The headers that a file includes."""
    return set(re.findall(r'^#include ["<]([^">]+)[">]', text, flags=re.MULTILINE))


def defined(text: str) -> set[str]:
    """The names that a header defines for others."""
    text = re.sub(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)", "", code(text))
    names = {name for pattern in _DEFINED for name in re.findall(pattern, text, flags=re.MULTILINE)}
    for enumerators in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", text):
        names |= set(re.findall(r"(?:^|,)\s*(\w+)", enumerators))
    for stem in re.findall(r"\b(\w+_u)##bits\(", text):
        names |= {f"{stem}{bits}" for bits in (8, 16, 32, 64)}
    return {name for name in names if not re.fullmatch(r"\w+_H|LOCKCROSS_ARCH_FILE", name)}


def used(text: str) -> set[str]:
    """The names that a file uses, but for members and for macros that it only looks for."""
    text = re.sub(r"^#include .*", "", code(text), flags=re.MULTILINE)
    names = set(re.findall(r"(?<![.\w])(?<!->)[A-Za-z]\w*", text))
    return names - set(re.findall(r"(?:#ifn?def|\bdefined) (\w+)", text)) - {"sizeof"}


def _members(text: str) -> set[str]:
    """Return the members' names in the structures of a file."""
    bodies = re.findall(r"\bstruct\b[^{;]*\{([^{}]*)\}", code(text))
    plain = {name for body in bodies for name in re.findall(r"(\w+)(?:\[[^\]]*\])?[;,]", body)}
    return plain | {name for body in bodies for name in re.findall(r"\(\*(\w+)\)\(", body)}


def _parameters(text: str) -> set[str]:
    """Return the parameters' names in the macros of a file."""
    lists = re.findall(r"^#define \w+\(([^)]*)\)", code(text), flags=re.MULTILINE)
    return {name for parameters in lists for name in re.findall(r"\w+", parameters)}


def names_by_header(folders: list[Path]) -> dict[str, set[str]]:
    """Header, as it is included, -> the names that it gives to those who include it."""
    own = {
        str(path.relative_to(folder)): defined(path.read_text())
        for folder in folders
        for path in sorted(folder.rglob("*.h"))
    }
    own |= STANDARD
    given = dict(own)
    for header, exported in EXPORTS.items():
        for other, names in own.items():
            if re.fullmatch(exported, other):
                given[header] = given[header] | names
    return given


def missing(text: str, itself: str, headers: Mapping[str, set[str]]) -> dict[str, list[str]]:
    """Name -> the headers that define it, for names that a file uses from no header it includes."""
    direct = included(text) & set(headers)
    known = defined(text) | _members(text) | _parameters(text)
    known |= {name for header in direct for name in headers[header]}
    lacking = {}
    for name in sorted(used(text) - known):
        if places := [header for header in headers if name in headers[header] and header != itself]:
            lacking[name] = places
    return lacking


def unused(text: str, itself: str, headers: Mapping[str, set[str]]) -> set[str]:
    """The headers that a file includes and neither uses nor stands for."""
    stands_for = EXPORTS.get(itself, "")
    return {
        header
        for header in included(text) & set(headers)
        if not headers[header] & used(text) and not re.fullmatch(stands_for, header)
    }
