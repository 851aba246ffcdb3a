# Sourced by ./lockcross: system packages, the virtual environment and the engine plugin, each made
# only when it is missing or out of date. Each of the last two ends by writing its stamp, so that
# a set-up killed half-way is found unfinished and done again.

say() { printf 'lockcross: %s\n' "$*" >&2; }

die() { # exit code, message
    local code=$1
    shift
    say "$@"
    exit "$code"
}

set_up() {
    if ready; then return; fi
    mkdir -p "$root/build"
    # One launcher at a time; those that waited find everything done.
    exec 9>"$root/build/setup.lock"
    if ! flock --nonblock 9; then
        say "another set-up is running here; waiting for it"
        flock 9
    fi
    [[ -z "$(missing_packages)" ]] || install_packages
    venv_ready || make_venv
    engine_ready || make_engine
    exec 9>&-
}

ready() { [[ -z "$(missing_packages)" ]] && venv_ready && engine_ready; }

# --- System packages -------------------------------------------------------------------------

have() { command -v "$1" >/dev/null 2>&1; }

# Prints the Debian packages that are missing, told by the files they bring: asking dpkg is slow,
# and a tool that was installed in another way is as good.
missing_packages() {
    local machine
    machine="$(uname -m)"
    have qemu-x86_64 && have qemu-ppc64le && have qemu-aarch64 || echo qemu-user
    have powerpc64le-linux-gnu-gcc || echo gcc-powerpc64le-linux-gnu
    if ! have x86_64-linux-gnu-gcc; then
        if [[ $machine == x86_64 ]]; then echo gcc; else echo gcc-x86-64-linux-gnu; fi
    fi
    if ! have aarch64-linux-gnu-gcc; then
        if [[ $machine == aarch64 ]]; then echo gcc; else echo gcc-aarch64-linux-gnu; fi
    fi
    have g++ || echo g++
    have make || echo make
    [[ -e /usr/include/capstone/capstone.h ]] || echo libcapstone-dev
    [[ -e /usr/include/doctest/doctest.h ]] || echo doctest-dev
    # Looking for a Python takes longest, and a virtual environment that works answers for it.
    venv_ready || find_python >/dev/null || echo python3-venv
}

install_packages() {
    local packages run=()
    mapfile -t packages < <(missing_packages)
    have apt-get || die 2 "missing: ${packages[*]} (Debian's names), and there is no apt-get here." \
        "Install them with this system's package manager and start again."
    if [[ $(id -u) != 0 ]]; then
        # Without a terminal sudo cannot ask for a password.
        if have sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
            run=(sudo)
        else
            die 2 "system packages are missing and there are no rights to install them." \
                "Please run this as root, then start again:"$'\n'"  apt-get install ${packages[*]}"
        fi
    fi
    say "installing system packages: ${packages[*]}"
    run+=(env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    quietly "the package lists could not be updated; check the network and apt's sources" \
        "${run[@]}" update
    quietly "the packages could not be installed; try: apt-get install ${packages[*]}" \
        "${run[@]}" install -y --no-install-recommends "${packages[@]}"
    [[ -z "$(missing_packages)" ]] ||
        die 1 "still missing after the installation: $(missing_packages | tr '\n' ' ')" \
            "(Python 3.11 or later with its venv module is needed)"
}

# Runs a command, keeping its output unless it fails. First argument: what to say when it does.
quietly() {
    local complaint=$1 log="$root/build/setup.log"
    shift
    if ! "$@" >"$log" 2>&1 </dev/null 9>&-; then
        tail -n 30 "$log" >&2
        die 1 "$complaint (the whole output: build/setup.log)"
    fi
}

# --- The virtual environment -----------------------------------------------------------------

find_python() {
    local python
    for python in python3.13 python3.12 python3.11 python3; do
        if have "$python" && "$python" -c \
            'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

# What the environment was made from: the requirements, the place (its scripts name it), and the
# Python in it, which does not answer when the one it was made from is gone.
venv_state() {
    local version
    version="$("$root/.venv/bin/python" -V 2>/dev/null)" || return 1
    printf '%s\n' "$(sha256sum <"$root/requirements.txt")" "$root" "$version"
}

venv_packages() { (cd "$root/.venv" && printf '%s\n' lib/python3*/site-packages/* bin/*); }

venv_ready() {
    [[ -e $root/.venv/stamp && -e $root/.venv/contents ]] || return 1
    [[ "$(venv_state)" == "$(<"$root/.venv/stamp")" ]] || return 1
    # Every package that was installed must still be there; what was added since does no harm.
    local LC_ALL=C
    [[ -z "$(comm -13 <(venv_packages | sort) "$root/.venv/contents")" ]]
}

make_venv() {
    local python
    python="$(find_python)" || die 2 "no Python 3.11 or later with its venv module was found." \
        "Install one (on Debian 12: apt-get install python3-venv) and start again."
    say "making .venv from requirements.txt ($("$python" -V))"
    rm -rf "$root/.venv"
    quietly "the virtual environment could not be made" "$python" -m venv "$root/.venv"
    quietly "the Python packages could not be installed; check the network and pip's index" \
        "$root/.venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        -r "$root/requirements.txt"
    venv_packages | LC_ALL=C sort >"$root/.venv/contents"
    venv_state >"$root/.venv/stamp"
}

# --- The engine plugin -----------------------------------------------------------------------

engine_library() { echo "$root/build/qemu-timing/liblockcross-timing.so"; }

engine_state() {
    (cd "$root/qemu-timing" && sha256sum Makefile src/* && g++ -dumpfullversion) | sha256sum
}

engine_ready() {
    [[ -e $(engine_library) && -e $root/build/engine.stamp ]] &&
        [[ "$(engine_state)" == "$(<"$root/build/engine.stamp")" ]]
}

make_engine() {
    local state
    state="$(engine_state)"
    say "building the engine plugin"
    rm -f "$root/build/engine.stamp"
    quietly "the engine plugin could not be built" make -C "$root/qemu-timing" -j "$(nproc)" all
    echo "$state" >"$root/build/engine.stamp"
}
