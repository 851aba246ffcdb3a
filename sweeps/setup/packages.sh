# System packages, by Debian's names.

# Prints the missing ones. It looks for the files that they install: asking dpkg is slow, and a tool
# from elsewhere will do.
missing_packages() {
    local machine
    machine="$(uname -m)"
    choose_qemu || missing_for_qemu
    have powerpc64le-linux-gnu-gcc || echo gcc-powerpc64le-linux-gnu
    if ! have x86_64-linux-gnu-gcc; then
        if [[ $machine == x86_64 ]]; then echo gcc; else echo gcc-x86-64-linux-gnu; fi
    fi
    if ! have aarch64-linux-gnu-gcc; then
        if [[ $machine == aarch64 ]]; then echo gcc; else echo gcc-aarch64-linux-gnu; fi
    fi
    have g++ || echo g++
    have make || echo make
    [[ -e /usr/include/doctest/doctest.h ]] || echo doctest-dev
    [[ -e /usr/include/nlohmann/json.hpp ]] || echo nlohmann-json3-dev
    # Looking for a Python takes longest, and a virtual environment that works answers for it.
    venv_ready || find_python >/dev/null || echo python3-venv
}

# Sets `run`, the beginning of a command that installs packages; fails without the rights.
may_install() {
    run=()
    if [[ $(id -u) != 0 ]]; then
        # Without a terminal sudo cannot ask for a password.
        have sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; } || return 1
        run=(sudo)
    fi
    run+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
}

install_packages() {
    local packages run
    mapfile -t packages <<<"$(missing_packages)"
    have apt-get || die 2 "missing: ${packages[*]} (Debian's names), and there is no apt-get here." \
        "Install them with this system's package manager and start again."
    may_install || die 2 "system packages are missing and there are no rights to install them." \
        "Please run this as root, then start again:"$'\n'"  apt-get install ${packages[*]}"
    quietly "the package lists could not be updated; check the network and apt's sources" \
        "${run[@]}" update
    # Only now is it known which QEMU the distribution has.
    mapfile -t packages <<<"$(missing_packages)"
    say "installing system packages: ${packages[*]}"
    quietly "the packages could not be installed; try: apt-get install ${packages[*]}" \
        "${run[@]}" install -y --no-install-recommends "${packages[@]}"
    # A qemu-user that proves to have no plugins asks for more.
    local missing
    missing="$(missing_packages)"
    [[ -z $missing ]] ||
        die 1 "still missing after the installation: ${missing//$'\n'/ }" \
            "(Python 3.11 or later with its venv module is needed)"
}

# What some tests need and nothing else does is installed only where it is asked for, as .ci/run does:
# a browser for the report's map (LOCKCROSS_BROWSER), Slurm for clusters (LOCKCROSS_SLURM), debootstrap
# for another Debian's root (LOCKCROSS_BARE). Without it these tests are skipped. Prints a line of
# packages for each that is asked for and missing.
system_programs=/usr/sbin # which an ordinary user's PATH may lack
wanted_for_tests() {
    [[ -z ${LOCKCROSS_BROWSER:-} ]] || have chromium || have chromium-browser || echo chromium
    [[ -z ${LOCKCROSS_SLURM:-} ]] || have slurmctld || [[ -x $system_programs/slurmctld ]] ||
        echo slurm-wlm munge
    [[ -z ${LOCKCROSS_BARE:-} ]] || have debootstrap || [[ -x $system_programs/debootstrap ]] ||
        echo debootstrap
}

# Never ends the set-up: not every distribution has them as packages.
install_for_tests() {
    local packages run log="$work/build/setup.log"
    wanted_for_tests | while read -r packages; do
        say "installing $packages, for tests"
        # shellcheck disable=SC2086  # several packages
        have apt-get && may_install && { "${run[@]}" update &&
            "${run[@]}" install -y --no-install-recommends $packages; } >"$log" 2>&1 </dev/null 9>&- ||
            say "$packages could not be installed, so tests that need it will be skipped"
    done
}
