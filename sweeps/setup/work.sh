# Where everything that is made goes: build/, .venv and results/output.

# Sets `work`: the tree itself, or LOCKCROSS_WORK, or, where the tree cannot be written to, a folder
# of the user's own that belongs to this tree.
choose_work() {
    if [[ -n ${LOCKCROSS_WORK:-} ]]; then
        mkdir -p "$LOCKCROSS_WORK" 2>/dev/null && writable "$LOCKCROSS_WORK" ||
            die 2 "LOCKCROSS_WORK=$LOCKCROSS_WORK: no folder that can be written to; name another"
        work="$(readlink -f "$LOCKCROSS_WORK")"
        return
    fi
    work=$root
    ! writable "$root" || return 0
    work="$(users_folder "${XDG_DATA_HOME:-}" .local/share)" || work="$(temporary_folder)"
    local name
    name="$(printf %s "$root" | sha256sum)"
    work+="/tree-${name:0:12}"
    say "this tree cannot be written to; what is built, and the results, go to $work"
}

writable() { [[ -w $1 ]]; }

# Prints the project's folder below $1, or below $2 in the user's home; fails where that cannot be
# written.
users_folder() {
    local base="${1:-${HOME:+$HOME/$2}}"
    [[ -n $base ]] && mkdir -p "$base/lockcross" 2>/dev/null && writable "$base/lockcross" &&
        printf '%s\n' "$base/lockcross"
}

temporary_folder() {
    local folder
    folder="${TMPDIR:-/tmp}/lockcross-$(id -u)"
    mkdir -p -m 700 "$folder" 2>/dev/null
    # Others may write to /tmp too.
    [[ -O $folder ]] && writable "$folder" ||
        die 2 "neither this tree nor $folder can be written to; name a folder in LOCKCROSS_WORK"
    printf '%s\n' "$folder"
}
