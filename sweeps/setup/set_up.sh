# Sourced by ./lockcross: system packages, a QEMU with plugins, the virtual environment and the
# engine plugin, each made only when it is missing or out of date. Each ends by writing its stamp or
# by moving into place, so that a set-up killed half-way is found unfinished and done again.
#
# Nothing here reads /proc or /dev/fd (no process substitution): a container may lack them.

for part in work last_look packages qemu_choice qemu_build python engine; do
    # shellcheck source=/dev/null
    source "$root/sweeps/setup/$part.sh"
done

say() { printf 'lockcross: %s\n' "$*" >&2; }

die() { # exit code, message
    local code=$1
    shift
    say "$@"
    exit "$code"
}

have() { command -v "$1" >/dev/null 2>&1; }

set_up() {
    choose_work
    if nothing_changed; then return; fi
    local begun=$((${EPOCHSECONDS:-0} - 1)) # what changes while it is looked at counts as changed
    if ready; then
        keep_look "$begun"
        return
    fi
    mkdir -p "$work/build"
    # One launcher at a time; those that waited find everything done.
    exec 9>"$work/build/setup.lock"
    wait_for_lock 9 "another set-up is running here; waiting for it"
    [[ -z "$(missing_packages)" ]] || install_packages
    [[ -z "$(wanted_for_tests)" ]] || install_for_tests
    choose_qemu || build_qemu
    venv_ready || make_venv
    engine_ready || make_engine
    starter_ready || make_starter
    exec 9>&-
}

ready() {
    choose_qemu && venv_ready && engine_ready && starter_ready && [[ -z "$(missing_packages)$(wanted_for_tests)" ]]
}

wait_for_lock() { # file descriptor, what to say when another has it
    flock --nonblock "$1" && return
    say "$2"
    flock "$1"
}

# Runs a command, keeping its output unless it fails. First argument: what to say when it does.
quietly() {
    local complaint=$1 log="$work/build/setup.log"
    shift
    "$@" >"$log" 2>&1 </dev/null 9>&- 8>&- || failed "$complaint" "$log"
}

# Ends with the last lines of a log, and what to say of them.
failed() { # what to say, log
    tail -n 30 "$2" >&2
    die 1 "$1 (the whole output: $2)"
}
