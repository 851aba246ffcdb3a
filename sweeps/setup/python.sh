# The virtual environment with the packages of requirements.txt, or at first, for --help and
# --version, with those of requirements/cli.txt alone.

find_python() {
    local python
    for python in python3.14 python3.13 python3.12 python3.11 python3; do
        if have "$python" && "$python" -c \
            'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

# What an environment is made from: the requirements, the place (its scripts name it), and the Python in
# it, which does not answer when the one it was made from is gone.
venv_state() { # requirements
    local version
    version="$("$work/.venv/bin/python" -V 2>/dev/null)" || return 1
    printf '%s\n' "$1" "$(sha256sum <"$root/$1")" "$work" "$version"
}

# But for those that an optional package may bring in a newer version.
venv_packages() (
    local site='lib/python3*/site-packages' GLOBIGNORE
    GLOBIGNORE="$site/pip*:$site/setuptools*:$site/pkg_resources:$site/*distutils*"
    cd "$work/.venv" && printf '%s\n' lib/python3*/site-packages/* bin/*
)

# Whether the packages are there: of requirements.txt, if nothing else is said.
venv_ready() { # requirements
    local venv="$work/.venv" package
    [[ -e $venv/stamp && -e $venv/contents ]] || return 1
    [[ "$(venv_state "${1:-requirements.txt}")" == "$(<"$venv/stamp")" ]] || return 1
    # Every package that was installed must still be there; what was added since does no harm.
    while IFS= read -r package; do
        [[ -e $venv/$package ]] || return 1
    done <"$venv/contents"
}

# Begins with nothing, also where fewer packages are: so what was interrupted leaves nothing behind.
make_venv() { # requirements
    local python venv="$work/.venv"
    python="$(find_python)" || die 2 "no Python 3.11 or later with its venv module was found." \
        "Install one (on Debian: apt-get install python3-venv) and start again."
    rm -rf "$venv"
    quietly "the virtual environment could not be made" "$python" -m venv "$venv"
    # Only files whose hashes are listed, and only wheels: the compilers may not be there yet. Python
    # compiles a module when it is first used; most of them never are.
    quietly "the Python packages could not be installed; check the network and pip's index" \
        "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check \
        --require-hashes --only-binary :all: --no-compile -r "$root/$1"
    venv_packages >"$venv/contents"
    venv_state "$1" >"$venv/stamp"
}
