# Sourced by ./lockcross: system packages, a QEMU with plugins, the virtual environment and the
# engine plugin, each made only when it is missing or out of date. Each ends by writing its stamp or
# by moving into place, so that a set-up killed half-way is found unfinished and done again.
#
# Nothing here reads /proc or /dev/fd (no process substitution): a container may lack them.

for part in work fingerprint steps announce packages qemu_choice qemu_build python engine java; do
    # shellcheck source=/dev/null
    source "$root/sweeps/setup/$part.sh"
done

have() { command -v "$1" >/dev/null 2>&1; }

set_up() { # the command and its arguments
    choose_work
    set_up_for_all "${1:-}"
    ! wants_java "$@" || java_ready || alone set_up_java
}

set_up_for_all() { # command
    if nothing_changed; then return; fi
    if only_prints "$1"; then
        qemu="${LOCKCROSS_QEMU:-}" qemu_why="${LOCKCROSS_QEMU_WHY:-}"
        prints_ready || alone set_up_to_print
        return
    fi
    local begun=$((${EPOCHSECONDS:-0} - 1)) # what changes while it is looked at counts as changed
    if ready; then
        save_fingerprint "$begun"
        return
    fi
    alone set_up_all
    choose_qemu
}

# Whether a command prints words and no more. It needs no compiler, no QEMU and no engine.
only_prints() { [[ -z $1 || $1 == -h || $1 == --help || $1 == --version ]]; }

prints_ready() { venv_ready || venv_ready requirements/cli.txt; }

ready() {
    choose_qemu && venv_ready && engine_ready && starter_ready &&
        [[ -z "$(missing_packages)$(wanted_for_tests)" ]]
}

# Runs a function while no other launcher is setting up here; those that waited find everything done.
alone() { # function
    mkdir -p "$work/build"
    exec 9>"$work/build/setup.lock"
    wait_for_lock 9 "another set-up is running here; waiting for it"
    "$1"
    exec 9>&-
}

wait_for_lock() { # file descriptor, what to say when another has it
    flock --nonblock "$1" && return
    say "$2"
    flock "$1"
}

set_up_to_print() {
    if prints_ready; then return; fi
    local missing
    missing="$(missing_for_python)"
    announce_to_print "$missing"
    # shellcheck disable=SC2086  # several packages
    [[ -z $missing ]] || { check_rights $missing && together get_lists && together get_python_venv; }
    together get_command_line
}

set_up_all() {
    if ready; then return; fi
    local missing
    missing="$(missing_packages)"
    announce "$missing"
    # shellcheck disable=SC2086  # several packages
    [[ -z $missing ]] || { check_rights $missing && together get_lists; }
    [[ -z "$(missing_for_python)" ]] || together get_python_venv # which the packages from PyPI wait for
    together get_programs get_packages
}

# The parts that `together` runs.

get_lists() { step "lists of system packages" update_lists; }

get_python_venv() { step "system packages for Python" install_packages missing_for_python; }

get_command_line() { step "Python packages of the command line" make_venv requirements/cli.txt; }

get_packages() { venv_ready || step "Python packages" make_venv requirements.txt; }

get_programs() {
    [[ -z "$(missing_for_programs)" ]] ||
        step "system packages" install_packages missing_for_programs
    [[ -z "$(wanted_for_tests)" ]] || step "system packages for tests" install_for_tests
    choose_qemu || step "QEMU from its source package" build_qemu
    engine_ready || step "engine" make_engine
    starter_ready || step "program that starts runs" make_starter
}
