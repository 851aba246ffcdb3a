#!/usr/bin/env bash
# Both commands of the README on a bare Debian: a fresh root with python3 and git and nothing else.
#
#   tests/bare_machine.sh SUITE [FOLDER]     e.g. bookworm, trixie; as root, with debootstrap
#
# Makes the root in FOLDER (default: a new one below /var/tmp), with packages from this machine's own
# mirror and pip set up as here, clones the committed state of this tree into it, and runs the main
# job and the tests there. Ends with a row for docs/machines-tried.md. The root is removed when both
# have passed; set KEEP=1 to keep it.
set -euo pipefail

suite=${1:?usage: tests/bare_machine.sh SUITE [FOLDER]}
tree="$(dirname "$(dirname "$(readlink -f "$0")")")"
folder=${2:-$(mktemp -d "/var/tmp/lockcross-$suite-XXXXXX")}
mkdir -p "$folder"
certificates=

die() {
    echo "bare_machine: $*" >&2
    exit 2
}

[[ $(id -u) == 0 ]] || die "run it as root: chroot and debootstrap need that"
command -v debootstrap >/dev/null || die "debootstrap is missing; apt-get install debootstrap"

mirror() { # the first that this machine takes packages from
    apt-get update --print-uris | sed -n "s|^'\(.*\)/dists/.*/InRelease'.*|\1|p" | head -n 1
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
        umount -l "$place"
    done
}
trap unmount EXIT

make_root() {
    [[ -e $folder/etc/debian_version ]] || debootstrap --variant=minbase "$suite" "$folder" "$(mirror)"
    local place
    for place in proc sys dev; do
        mount --rbind "/$place" "$folder/$place"
        mount --make-rslave "$folder/$place"
        mounted+=("$folder/$place")
    done
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

make_root >"$folder.log" 2>&1 || die "the root could not be made: $folder.log"
before=$(packages)
cd "$folder/root"
lockcross=/root/lockcross/lockcross
failed=
timed crossover.log $lockcross crossover
main=$seconds
after=$(packages)
timed test.log $lockcross test
tests=$seconds

version() { inside "$@" | grep -oE '[0-9]+\.[0-9]+[0-9.]*' | head -n 1; }

doctor="$(inside $lockcross doctor || true)"
# "ok engine qemu: qemu-x86_64: VERSION (PATH: WHY)"
qemu="$(sed -n 's/^ok *engine qemu: qemu-x86_64: \([^ ]*\) (.*qemu-x86_64: \(.*\))$/\1 (\2)/p' \
    <<<"$doctor")"
passed="$(tail -n 1 test.log | tr -d =)"
printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' \
    "$suite ($(<"$folder/etc/debian_version"))" "$before + $((after - before))" \
    "$(version gcc --version)" "$(version python3 --version)" \
    "$(inside dpkg-query -f '${Version}' -W libcapstone-dev)" "$qemu" "$main" "$tests" "$passed"
if [[ -n $failed ]]; then
    echo "bare_machine: failed: $failed; the root is kept: $folder" >&2
    exit 1
fi
[[ -n ${KEEP:-} ]] || {
    cd /
    unmount
    mounted=()
    rm -rf --one-file-system "$folder" "$folder.log"
}
