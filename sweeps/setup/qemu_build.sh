# Builds QEMU's user mode with plugins from the distribution's own source package.

qemu_targets="x86_64-linux-user,ppc64le-linux-user,aarch64-linux-user"
qemu_options="--without-default-features --enable-plugins --disable-system --disable-tools
    --disable-docs --disable-debug-info --disable-install-blobs --disable-werror"
qemu_disk_mb=2000 # sources and objects, while it is being built

# Prints the packages that are missing to build it, by looking for what they install.
missing_to_build_qemu() {
    have ninja || echo ninja-build
    have meson || echo meson
    have pkg-config || echo pkg-config
    have dpkg-source || echo dpkg-dev
    have xz || echo xz-utils
    have cc || echo gcc
    [[ -e /usr/include/glib-2.0/glib.h ]] || echo libglib2.0-dev
    local module
    for module in distlib pycotap; do
        [[ -e /usr/lib/python3/dist-packages/$module ||
            -e /usr/lib/python3/dist-packages/$module.py ]] || echo "python3-$module"
    done
}

# Ends with a message when it cannot be built.
build_qemu() {
    local cache building
    cache="$(qemu_cache)"
    mkdir -p "$cache"
    # Other clones use the same folder.
    exec 8>"$cache/lock"
    wait_for_lock 8 "another set-up is building QEMU; waiting for it"
    if ! choose_qemu; then
        rm -rf "$cache"/.building-*
        building="$(mktemp -d "$cache/.building-XXXXXX")"
        # What a failure leaves would fill the disk.
        (enough_disk "$building" && fetch_qemu "$building" && compile_qemu "$building" &&
            keep_qemu "$building" "$cache") || { rm -rf "$building" && exit 1; }
        choose_qemu || die 1 "the QEMU that was built in $cache does not do: $(qemu_fault "$cache"/*/)"
    fi
    exec 8>&-
}

enough_disk() { # folder
    local free
    free="$(df -Pm "$1" | tail -n 1 | (read -r _ _ _ free _ && echo "$free"))"
    ((free >= qemu_disk_mb)) || die 1 "QEMU cannot be built: ${1%/*} has $free MB free, and" \
        "$qemu_disk_mb are needed for a while; make room, or name another folder in XDG_CACHE_HOME"
}

# apt-get with a sources list, package lists and downloads of its own below a folder: the system's
# stay as they are, and no rights are needed.
apt_of() { # folder, arguments
    local folder=$1
    shift
    apt-get -q -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache" \
        -o APT::Get::List-Cleanup=0 -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::http::Timeout=30 -o Acquire::Retries=2 "$@"
}

# Prints lines that name the sources of the distribution, of the mirrors that its packages come from.
source_lines() {
    local keys uri base suite
    # shellcheck source=/dev/null
    source /etc/os-release
    for keys in "/usr/share/keyrings/$ID-archive-keyring."{gpg,pgp}; do
        [[ -e $keys ]] && break
    done
    [[ -e $keys ]] && keys="[signed-by=$keys]" || keys=
    apt-get update --print-uris 2>/dev/null | while read -r uri _; do
        [[ $uri =~ ^\'(.+)/dists/([^/]+)/InRelease\'$ ]] || continue
        base=${BASH_REMATCH[1]} suite=${BASH_REMATCH[2]}
        # Other vendors' suites carry the distribution's name, too.
        case $suite in
            "${VERSION_CODENAME:-none}" | "${VERSION_CODENAME:-none}"-{updates,security} | \
                stable | testing | unstable | sid) echo "deb-src $keys $base $suite main" ;;
        esac
    done
}

fetch_qemu() { # folder
    local log="$work/build/setup.log" folder=$1
    have apt-get || die 2 "no QEMU with plugins is here, and no apt-get to fetch its source with." \
        "Build one (configure --enable-plugins --target-list=$qemu_targets) and name its folder" \
        "in LOCKCROSS_QEMU."
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    source_lines >"$folder/sources.list"
    [[ -s $folder/sources.list ]] ||
        die 1 "apt's sources name no mirror of this distribution, so QEMU's source package cannot" \
            "be fetched; name a QEMU with plugins in LOCKCROSS_QEMU"
    apt_of "$folder" update >"$log" 2>&1 </dev/null ||
        failed "the lists of source packages could not be fetched; check the network" "$log"
    (cd "$folder" && apt_of "$folder" source qemu) >"$log" 2>&1 </dev/null ||
        failed "the source package of QEMU could not be fetched or unpacked; check the network, \
and that apt's mirrors have source packages" "$log"
}

compile_qemu() { # folder
    local log="$work/build/setup.log" source python=/usr/bin/python3
    source="$(echo "$1"/qemu-*/)"
    # The system's Python has the packages that were installed for this.
    [[ -x $python ]] || python=python3
    mkdir "$1/build"
    # shellcheck disable=SC2086
    (cd "$1/build" && "$source/configure" --python="$python" --target-list="$qemu_targets" \
        $qemu_options) >"$log" 2>&1 </dev/null 9>&- 8>&- ||
        failed "QEMU's configure failed" "$log"
    # shellcheck disable=SC2086
    (cd "$1/build" && ninja $qemu_programs 2>&1) </dev/null 9>&- 8>&- |
        tee -a "$log" | show_progress "building QEMU"
    [[ ${PIPESTATUS[0]} == 0 ]] || failed "QEMU does not compile" "$log"
}

# Turns ninja's "[n/m]" into one line that moves, or, without a terminal, into four.
show_progress() { # what is done
    local line percent=0 shown=0
    while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
        if [[ -t 2 ]]; then
            printf '\rlockcross: %s: %d %%' "$1" "$percent" >&2
        elif ((percent >= shown + 25)); then
            shown=$((percent / 25 * 25))
            say "$1: $shown %"
        fi
    done
    [[ ! -t 2 ]] || printf '\n' >&2
}

# Moves the programs to a folder named by their version, whole or not at all.
keep_qemu() { # folder, cache
    local version kept program
    version="$(sed -n 's/^Version: //p' "$1"/qemu_*.dsc | head -n 1)"
    kept="$2/$(uname -m)-${version#*:}" # a colon would end it in a PATH
    mkdir "$1/done"
    for program in $qemu_programs; do
        mv "$1/build/$program" "$1/done/"
    done
    printf 'source package qemu %s\n' "$version" >"$1/done/source"
    rm -rf "${kept:?}"
    mv "$1/done" "$kept"
    rm -rf "$1"
}
