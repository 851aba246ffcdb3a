"""Words that readers of CSV take for a missing value where nothing else is asked for: those of
pandas, R, polars, DuckDB and Julia's CSV, in any case. No name that a table can hold is one."""

WORDS = frozenset(
    ("|#n/a|#n/a n/a|#na|-1.#ind|-1.#qnan|-nan|1.#ind|1.#qnan|<na>|n/a|na|nan|none|null").split("|")
)
# What tables have in place of the empty name of a lock's first, or only, variant.
FIRST_VARIANT = "first"


def why_no_name(word: str) -> str:
    """Say why a word cannot be a name, or nothing."""
    if word.lower() not in WORDS:
        return ""
    return f"{word!r} cannot be a name: pandas, R and others read it as a missing value"
