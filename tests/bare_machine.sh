#!/usr/bin/env bash
# The README's commands on a bare Debian or Ubuntu: a fresh root with python3 and git, nothing else.
#
#   tests/bare_machine.sh SUITE [FOLDER]           the main job and all tests, e.g. of bookworm, resolute
#   tests/bare_machine.sh --quick SUITE [FOLDER]   only the tests that depend on compiler and system
#   tests/bare_machine.sh --cycles SUITE [FOLDER]  the same, and its row of what the engine computes
#   tests/bare_machine.sh --can                    whether it can be done here; if not, why
#
# As root, with debootstrap. Makes the root in FOLDER (default: a new one below /var/tmp), with
# packages from this machine's own mirror (for a suite that it lacks, from Ubuntu's archive) and pip
# set up as here, and clones the committed state of this tree into it. Without --quick it ends by
# writing the suite's row of docs/machines-tried.md. The root is removed when all has passed; set
# KEEP=1 to keep it.
set -eEuo pipefail # -E: functions inherit the trap for errors

tree="$(dirname "$(dirname "$(readlink -f "$0")")")"
document="$tree/docs/machines-tried.md"
quick_tests="engines/test_reference_cycles engines/test_drawn_cells engines/test_instructions
    engines/test_engine locks/test_footprint locks/test_generated_code proofs/test_assembly
    proofs/test_liveness set_up/test_launcher"

die() {
    echo "bare_machine: $*" >&2
    exit 2
}

# Why no root can be made here; nothing if one can.
obstacle() {
    local place
    [[ $(id -u) == 0 ]] || { echo "run it as root: chroot and debootstrap need that" && return; }
    # shellcheck source=/dev/null
    [[ "$(source /etc/os-release && echo "$ID")" == debian ]] ||
        { echo "this is no Debian, so the mirror of its packages has none" && return; }
    command -v debootstrap >/dev/null ||
        { echo "debootstrap is missing; apt-get install debootstrap" && return; }
    place="$(mktemp -d)"
    mount --bind "$place" "$place" 2>/dev/null && umount "$place" ||
        echo "mounting is not allowed here, not even for root"
    rmdir "$place"
}

quick='' cycles=''
case ${1:-} in
    --can)
        why="$(obstacle)"
        [[ -z $why ]] || die "$why"
        exit 0
        ;;
    --quick)
        quick=1
        shift
        ;;
    --cycles)
        quick=1 cycles=1
        shift
        ;;
esac
suite=${1:-}
[[ -n $suite ]] || die "usage: tests/bare_machine.sh [--quick | --cycles] SUITE [FOLDER], or --can"
why="$(obstacle)"
[[ -z $why ]] || die "$why"
folder="$(readlink -m "${2:-$(mktemp -d "/var/tmp/lockcross-$suite-XXXXXX")}")"
mkdir -p "$folder"
certificates=

mirror() { # that this machine takes its distribution's packages from
    local suite # of this machine
    # shellcheck source=/dev/null
    suite="$(source /etc/os-release && echo "$VERSION_CODENAME")"
    apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/$suite/InRelease'.*|\1|p" | head -n 1
}

make_root() {
    local own archive=http://archive.ubuntu.com/ubuntu
    own="$(mirror)"
    if curl -sfI -o /dev/null "$own/dists/$suite/Release"; then
        debootstrap --variant=minbase "$suite" "$folder" "$own"
    else # `gutsy`: how every Ubuntu is made; its newer suites and its keys may not be known here
        debootstrap --variant=minbase --components=main,universe --no-check-gpg \
            "$suite" "$folder" "$archive" gutsy
    fi
}

inside() { # command, in the root, with a clean environment
    chroot "$folder" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8 PIP_CERT=$certificates "$@"
}

# This machine's, beside those that a package may bring.
[[ ! -e /etc/ssl/certs/ca-certificates.crt ]] || certificates=/etc/host-certificates.crt

mounted=()
unmount() {
    local place
    for place in "${mounted[@]}"; do
        umount -l "$place" || true # the others must go in any case
    done
    mounted=()
}
trap unmount EXIT

mount_host() {
    local place
    for place in proc sys dev; do
        mount --rbind "/$place" "$folder/$place"
        mounted+=("$folder/$place")
        mount --make-rslave "$folder/$place"
    done
}

fill_root() {
    cp /etc/resolv.conf "$folder/etc/resolv.conf"
    inside apt-get -q update
    inside apt-get -q install -y --no-install-recommends python3 git
    # pip reaches its index as it does here.
    [[ ! -e /etc/pip.conf ]] || cp /etc/pip.conf "$folder/etc/pip.conf"
    [[ -z $certificates ]] || cp /etc/ssl/certs/ca-certificates.crt "$folder$certificates"
    rm -rf "$folder/root/lockcross"
    git clone -q --no-hardlinks "$tree" "$folder/root/lockcross"
}

packages() { inside dpkg-query -f '.\n' -W | wc -l; }

timed() { # log, command; sets `seconds`, and `failed` where it went wrong
    local log=$1 begin=$SECONDS
    shift
    inside "$@" >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        failed="$*"
    }
    seconds=$((SECONDS - begin))
}

version() { inside "$@" | grep -oE '[0-9]+\.[0-9]+[0-9.]*' | head -n 1; }

# What rows of docs/machines-tried.md begin with.
tried() {
    printf '| %s ' "$suite ($(release))" "$(date -I)" \
        "$(inside git -C /root/lockcross rev-parse --short=12 HEAD)" \
        "$(sed -n 's/^ok *engine qemu: engine plugin: .*+//p' <<<"$doctor")"
}

passed() { tail -n 1 test.log | sed 's/ in .*//' | tr -d =; }

# The row of all tests.
row() { # packages before, packages after, seconds of the main job and of the tests
    local doctor qemu
    doctor="$(inside $lockcross doctor || true)"
    # "ok engine qemu: qemu-x86_64: VERSION (PATH: WHY)"
    qemu="$(sed -n 's/^ok *engine qemu: qemu-x86_64: \([^ ]*\) (.*qemu-x86_64: \(.*\))$/\1 (\2)/p' \
        <<<"$doctor")"
    tried
    printf '| %s ' "$1 + $(($2 - $1))" "$(version gcc --version)" "$(version python3 --version)" \
        "$qemu" "$3" "$4" "$(passed)"
    echo '|'
}

# The row of what the engine computes.
cycles_row() { # seconds
    local doctor
    doctor="$(inside $lockcross doctor || true)"
    tried
    printf '| %s ' "$1${failed:+, failed}" "$(passed)"
    echo '|'
}

# Which release a root is of: Debian's point release, Ubuntu's number.
release() {
    # shellcheck source=/dev/null
    (source "$folder/etc/os-release" && [[ $ID == debian ]] && cat "$folder/etc/debian_version" ||
        echo "$NAME $VERSION_ID")
}

# Puts a row in the place of the suite's, or behind the last one, of the table with that first head.
write_row() { # head, row
    HEAD="| $1 |" ROW="$2" SUITE="| $suite (" awk '
        !/^\|/ { if (in_table && !done) { print ENVIRON["ROW"]; done = 1 }; in_table = 0 }
        index($0, ENVIRON["HEAD"]) == 1 { in_table = 1 }
        in_table && index($0, ENVIRON["SUITE"]) == 1 {
            if (!done) print ENVIRON["ROW"]
            done = 1
            next
        }
        { print }' "$document" >"$document.new"
    mv "$document.new" "$document"
}

# Steps of a function that is called in a condition go on after a failure: so each is a command here.
trap 'tail -n 20 "$folder.log" >&2; unmount; die "the root could not be made: $folder.log"' ERR
[[ -e $folder/etc/debian_version ]] ||
    make_root >"$folder.log" 2>&1
mount_host >>"$folder.log" 2>&1
fill_root >>"$folder.log" 2>&1
trap - ERR
cd "$folder/root"
lockcross=/root/lockcross/lockcross
failed=
if [[ -n $quick ]]; then
    # shellcheck disable=SC2086
    timed test.log $lockcross test $(printf 'tests/%s.py ' $quick_tests)
    echo "$suite ($(release)), ${seconds} s with set-up:"
    tail -n 1 test.log
    [[ -z $cycles ]] || write_row "cycles on" "$(cycles_row "$seconds" | tee /dev/stderr)"
else
    before=$(packages)
    timed crossover.log $lockcross crossover
    main="$seconds${failed:+, failed}"
    after=$(packages)
    # The rows are of an older engine until this has ended.
    timed test.log env LOCKCROSS_TRYING=1 $lockcross test
    write_row system "$(row "$before" "$after" "$main" "$seconds" | tee /dev/stderr)"
fi
if [[ -n $failed ]]; then
    echo "bare_machine: failed: $failed; the root is kept: $folder" >&2
    exit 1
fi
[[ -n ${KEEP:-} ]] || {
    cd /
    unmount
    rm -rf --one-file-system "$folder" "$folder.log"
}
