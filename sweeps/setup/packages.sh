# System packages, by Debian's names.

# Prints the missing ones. It looks for the files that they install: asking dpkg is slow, and a tool
# from elsewhere will do.
missing_packages() {
    missing_for_python
    missing_for_programs
}

missing_for_python() {
    # Looking for a Python takes longest, and a virtual environment that works answers for it.
    venv_ready || find_python >/dev/null || echo python3-venv
}

missing_for_programs() {
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
    # A file may be there whose package is not configured, or lacks what it depends on.
    [[ ! -e $(unfinished) ]] || cat "$(unfinished)"
}

# The file that has the packages whose installation has begun and not ended.
unfinished() { echo "$work/build/unfinished"; }

as_root=() # the beginning of a command that only root may call

# Whether packages can be installed; sets `as_root`. A password is asked for here, if at all: what is
# installed side by side with something else has no terminal.
may_install() {
    [[ $(id -u) != 0 ]] || return 0
    have sudo && { sudo -n true 2>/dev/null || { [[ -t 0 ]] && sudo -v; }; } || return 1
    as_root=(sudo -n)
}

apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# Ends set-up where packages are missing that cannot be installed.
check_rights() { # packages
    have apt-get || die 2 "missing: $* (Debian's names), and there is no apt-get here." \
        "Install them with this system's package manager and start again."
    may_install || die 2 "system packages are missing and there are no rights to install them." \
        "Please run this as root, then start again:"$'\n'"  apt-get install $*"
}

update_lists() {
    quietly "the package lists could not be updated; check the network and apt's sources" \
        apt_get update
}

install_packages() { # function that prints the missing ones
    local packages before=
    # Only with the lists is it known which QEMU the distribution has; and only when it is installed
    # whether that loads plugins: without, more is missing.
    while mapfile -t packages <<<"$("$1")" && [[ -n ${packages[*]} ]]; do
        [[ ${packages[*]} != "$before" ]] ||
            die 1 "still missing after the installation: ${packages[*]}" \
                "(Python 3.11 or later with its venv module is needed)"
        before="${packages[*]}"
        if [[ -e $(unfinished) ]]; then
            quietly "the packages could not be configured; try: dpkg --configure -a" \
                "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
        fi
        quietly "the packages could not be loaded; try: apt-get install ${packages[*]}" \
            apt_get install -y --no-install-recommends --download-only "${packages[@]}"
        printf '%s\n' "${packages[@]}" >"$(unfinished)"
        quietly "the packages could not be installed; try: apt-get install ${packages[*]}" \
            undisturbed apt_get install -y --no-install-recommends "${packages[@]}"
        rm -f "$(unfinished)"
    done
}

# Runs a command that no interrupt ends: dpkg would leave the system's packages unconfigured.
undisturbed() (
    trap '' INT
    "$@"
)

# What some tests need and not every command does is installed only where it is asked for, as .ci/run
# does: a browser for the report's map (LOCKCROSS_BROWSER), Slurm for clusters (LOCKCROSS_SLURM),
# debootstrap for another Debian's root (LOCKCROSS_BARE), Java for `record` (LOCKCROSS_JAVA),
# allocators that lock mutexes, for `record --pthread` (LOCKCROSS_ALLOCATORS). Without it these tests
# are skipped. Prints a line of packages for each that is asked for and missing.
system_programs=/usr/sbin # which an ordinary user's PATH may lack
wanted_for_tests() {
    [[ -z ${LOCKCROSS_BROWSER:-} ]] || have chromium || have chromium-browser || echo chromium
    [[ -z ${LOCKCROSS_SLURM:-} ]] || have slurmctld || [[ -x $system_programs/slurmctld ]] ||
        echo slurm-wlm munge
    [[ -z ${LOCKCROSS_BARE:-} ]] || have debootstrap || [[ -x $system_programs/debootstrap ]] ||
        echo debootstrap
    [[ -z ${LOCKCROSS_ALLOCATORS:-} ]] || missing_allocators
    [[ -z ${LOCKCROSS_JAVA:-} ]] || missing_for_java
}

missing_allocators() {
    local one
    for one in jemalloc mimalloc; do
        compgen -G "/usr/lib*/*/lib$one.so" >/dev/null || echo "lib$one-dev"
    done
}

# Never ends the set-up: not every distribution has them as packages.
install_for_tests() {
    local packages log="$work/build/setup.log"
    wanted_for_tests | while read -r packages; do
        # shellcheck disable=SC2086  # several packages
        have apt-get && may_install && { apt_get update &&
            undisturbed apt_get install -y --no-install-recommends $packages; } >"$log" 2>&1 </dev/null 9>&- ||
            say "$packages could not be installed, so tests that need it will be skipped"
    done
}
