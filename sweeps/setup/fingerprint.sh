# Whether anything that set-up looks at can have changed since it last found everything as it should
# be. Asking that takes one program; looking at everything takes fifteen.
#
# A change shows in a file's change time (ctime), which the kernel alone sets, so also old files that
# are copied or unpacked over new ones count as changed. Looked at are: what is made, what it is made
# of, the programs that are used, the folders of PATH and the lists of installed packages (a program
# or a library that comes or goes), and the variables that decide. Whatever is in doubt is looked at,
# and so is everything in a shell before Bash 5, which does not know the time.

fingerprint_file() { printf -v file '%s' "$work/build/fingerprint"; } # sets `file`

# Sets `surroundings`: the variables that set-up goes by, as one text.
read_surroundings() {
    local name
    surroundings="$root|$work|$PATH|${HOME:-}|${XDG_CACHE_HOME:-}|${XDG_DATA_HOME:-}"
    for name in "${!LOCKCROSS_@}"; do
        surroundings+="|$name=${!name}"
    done
    surroundings="${surroundings//$'\n'/ }"
}

# Sets `qemu` and `qemu_why` as they were, if nothing has changed; fails otherwise.
nothing_changed() {
    local file surroundings known when newer inputs
    fingerprint_file
    [[ -e $file ]] || return 1
    read_surroundings
    {
        IFS= read -r known && [[ $known == "$surroundings" ]] &&
            IFS= read -r when && ((when <= ${EPOCHSECONDS:-0})) && # a clock that was set back says nothing
            IFS= read -r qemu && IFS= read -r qemu_why && mapfile -t inputs
    } <"$file" || return 1
    # Fails where one of them is gone. Of folders of packages and programs only they themselves count.
    newer="$(find -L "${inputs[@]}" -path '*/.' -prune -cnewer "$file" -print -quit -o \
        ! -path '*/.' -cnewer "$file" -print -quit 2>/dev/null)" && [[ -z $newer ]]
}

# Prints what to watch, a line each; folders that end in /. without what is in them.
inputs() {
    local name folder folders venv="$work/.venv"
    printf '%s\n' "$root"/{lockcross,requirements.txt,requirements/cli.txt,sweeps/setup} \
        "$root"/{qemu-timing/Makefile,qemu-timing/src,sweeps/run/start.c} \
        "$work"/build/{engine.stamp,start.stamp,start} "$(engine_folder)/liblockcross-timing.so" \
        "$venv"/{stamp,contents,bin/python,bin/.} "$venv"/lib/python3*/site-packages/. \
        /usr/include/{doctest/doctest.h,nlohmann/json.hpp}
    for name in $qemu_programs; do
        printf '%s\n' "$qemu/$name"
    done
    for name in g++ make {x86_64,powerpc64le,aarch64}-linux-gnu-gcc; do
        type -P "$name"
    done
    IFS=: read -ra folders <<<"$PATH"
    for folder in "${folders[@]}" /etc/alternatives; do
        [[ ! -d $folder ]] || printf '%s\n' "$folder/."
    done
    for name in /var/lib/dpkg/status /etc/ld.so.cache; do
        [[ ! -e $name ]] || printf '%s\n' "$name"
    done
}

# Keeps what was found, as of a time before it was looked at (seconds since 1970). Where it cannot be
# kept, everything is looked at again next time.
save_fingerprint() { # time
    local file surroundings
    fingerprint_file
    read_surroundings
    { printf '%s\n' "$surroundings" "$1" "$qemu" "$qemu_why" && inputs; } >"$file.$$" &&
        touch -d "@$1" "$file.$$" && mv -f "$file.$$" "$file" || rm -f "$file.$$"
} 2>/dev/null
