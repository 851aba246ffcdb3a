# Which QEMU the embedded engine runs under. It needs one whose user mode loads plugins, for all
# three instruction sets. Debian 12's qemu-user does; Debian 13's, every later one and Ubuntu's are
# linked statically and cannot.

qemu_of_package=/usr/bin/qemu-x86_64
qemu_programs="qemu-x86_64 qemu-ppc64le qemu-aarch64"

# Sets `qemu` (a folder) and `qemu_why`. The user's comes first, then the system's, then one that
# was built before. Fails where there is none.
choose_qemu() {
    local program folder
    if [[ -n ${LOCKCROSS_QEMU:-} ]]; then
        qemu=$LOCKCROSS_QEMU
        qemu_why="${LOCKCROSS_QEMU_WHY:-named by LOCKCROSS_QEMU}"
        local fault
        fault="$(qemu_fault "$qemu")"
        [[ -z $fault ]] ||
            die 2 "LOCKCROSS_QEMU=$qemu: $fault. Name a folder with $qemu_programs, or leave it unset."
        return
    fi
    while IFS= read -r program; do
        folder="$(dirname "${program:-/}")"
        [[ -z "$(qemu_fault "$folder")" ]] || continue
        qemu=$folder
        qemu_why="the system's, which has plugins"
        return
    done <<<"$(type -ap qemu-x86_64)"
    for folder in "$(qemu_cache)"/*/; do
        [[ -e $folder/source && -z "$(qemu_fault "$folder")" ]] || continue
        qemu=${folder%/}
        qemu_why="built here from $(<"$folder/source")"
        return
    done
    return 1
}

# Prints why the QEMU in a folder is of no use, or nothing.
qemu_fault() { # folder
    local program help
    for program in $qemu_programs; do
        [[ -x $1/$program ]] || { echo "$program is not there" && return; }
        help="$("$1/$program" --help 2>/dev/null)" || { echo "$program does not run" && return; }
        [[ $help == *-plugin* ]] || { echo "$program was built without plugins" && return; }
    done
}

# Prints the folder of those that are built: kept between clones, unless the user's cache cannot be
# written to.
qemu_cache() {
    local folder
    folder="$(users_folder "${XDG_CACHE_HOME:-}" .cache)" || folder="$work/build"
    printf '%s\n' "$folder/qemu"
}

# Prints the packages that bring a QEMU with plugins: the system's, or what it takes to build one.
missing_for_qemu() {
    if qemu_package_may_do; then echo qemu-user; else missing_to_build_qemu; fi
}

# Whether the distribution's package may load plugins; true where that is not known. Not if it is
# here already, or depends on no library: what is linked statically cannot load any.
qemu_package_may_do() {
    [[ ! -e $qemu_of_package ]] || return
    have apt-cache || return 0
    local description depends=$'\nDepends: [^\n]*libc'
    description="$(apt-cache show qemu-user 2>/dev/null)" || return 0
    [[ $description =~ $depends ]]
}
