# What the first call says at once: what it is about to do, how much it loads and how long it takes.

# Megabytes to load, as docs/machines-tried.md has them measured on Debian 12. Seconds are estimates for
# two cores that have nothing else to do; what it really took, set-up says after each step.
system_mb=162 system_s=60
packages_mb=110 packages_s=25
command_line_mb=5 command_line_s=8
qemu_s=150
engine_s=40

announce_to_print() { # missing system packages
    say "first call: the Python packages of requirements/cli.txt are loaded into .venv" \
        "($command_line_mb MB, about $command_line_s s)"
    [[ -z $1 ]] || say "  and system packages: ${1//$'\n'/ } (about 20 s)"
}

announce() { # missing system packages
    local seconds=0 lines=()
    if [[ -n $1 ]]; then
        lines+=("system packages: ${1//$'\n'/ } (up to $system_mb MB, about $system_s s)")
        ((seconds += system_s))
    fi
    # Where apt has no lists yet, whether its QEMU will do is found out later.
    if ! choose_qemu && [[ -e $qemu_of_package || $1 == *ninja-build* || $1 != *qemu-user* ]]; then
        lines+=("QEMU's user mode from the distribution's source package (about $qemu_s s)")
        ((seconds += qemu_s))
    fi
    if ! engine_ready || ! starter_ready; then
        lines+=("the engine, from its sources here (about $engine_s s)")
        ((seconds += engine_s))
    fi
    if ! venv_ready; then
        lines+=("Python packages of requirements.txt, into .venv (${packages_mb} MB, about $packages_s s)")
        ((seconds >= packages_s)) || seconds=$packages_s # side by side with the others
    fi
    ((${#lines[@]})) || return 0
    say "setting up what is missing, about $(((seconds + 59) / 60)) min in all; later calls begin at once:"
    printf 'lockcross:   %s\n' "${lines[@]}" >&2
}
