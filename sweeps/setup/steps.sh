# Steps of set-up: how they run side by side, are timed, and end.

tick_s=20 # set-up says at least so often what it is at

say() {
    local over=
    [[ ! -t 2 ]] || over=$'\r' # a line that moves, see show_progress
    printf '%slockcross: %s\n' "$over" "$*" >&2
}

die() { # exit code, message
    local code=$1
    shift
    say "$@"
    exit "$code"
}

# Runs a step, and says at its end how long it took.
step() { # what it brings, command
    local what=$1 begun=$SECONDS
    shift
    echo "$what" >"$work/build/doing.${job:-set_up}"
    "$@"
    say "$what: ready after $((SECONDS - begun)) s"
    rm -f "$work/build/doing.${job:-set_up}"
}

# Runs a command, keeping its output unless it fails. First argument: what to say when it does.
quietly() {
    local complaint=$1 log="$work/build/setup_${job:-only}" # of a job of `together`
    shift
    "$@" >"$log.log" 2>"$log.errors" </dev/null 9>&- 8>&- || failed "$complaint" "$log.log"
}

# Ends with all that a command wrote to standard error, or, where that is nothing, with the last lines
# of its output, and with what to say of it. In one piece: other steps have messages, too.
failed() { # what to say, log
    local errors=
    [[ ! -e ${2%.log}.errors ]] || errors="$(<"${2%.log}.errors")"
    [[ -n $errors ]] || errors="$(tail -n 30 "$2")"
    printf '%s\nlockcross: %s\n' "$errors" "$1 (the whole output: $2)" >&2
    exit 1
}

# Runs functions side by side, and returns when all have ended. When one fails, or the user interrupts,
# the others are ended, and so is set-up. Each has a process group, which takes in what it started.
together() { # functions
    local jobs=() job interrupted='' told=$SECONDS begun=$SECONDS code
    trap 'interrupted=130' INT HUP
    trap 'interrupted=143' TERM
    rm -f "$work/build/"doing.*
    set -m
    for job; do
        (
            set +m
            trap 'exit 130' INT TERM HUP
            "$job"
        ) </dev/null &
        jobs+=($!)
    done
    set +m
    while ((${#jobs[@]})); do
        sleep 0.2 || true # which an interrupt ends
        [[ -z $interrupted ]] || {
            say "interrupted; the next call goes on with what is missing"
            end_jobs "${jobs[@]}"
            exit "$interrupted"
        }
        for job in "${!jobs[@]}"; do
            ! kill -0 "${jobs[job]}" 2>/dev/null || continue
            code=0
            wait "${jobs[job]}" || code=$?
            unset "jobs[job]"
            ((code == 0)) || { end_jobs "${jobs[@]}" && exit "$code"; }
        done
        ((SECONDS < told + tick_s)) || { told=$SECONDS && say_doing "$((SECONDS - begun))"; }
    done
    trap - INT TERM HUP
}

say_doing() { # seconds
    local names
    names="$(cat "$work/build/"doing.* 2>/dev/null)" || return 0
    say "still at work after $1 s: ${names//$'\n'/, }"
}

# Ends jobs and waits until they have ended. A job itself ends after the program that it runs; that
# program ends at once, unless it must not be (see install_packages).
end_jobs() {
    local job
    for job; do
        kill -TERM "$job" 2>/dev/null || true
        kill -INT -- "-$job" 2>/dev/null || true
        # What sudo has started is root's.
        ((${#as_root[@]} == 0)) || "${as_root[@]}" kill -INT -- "-$job" 2>/dev/null || true
        wait "$job" 2>/dev/null || true
    done
    rm -f "$work/build/"doing.*
}
