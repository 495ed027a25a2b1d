#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages in a clean Debian and uses only the installed files:
#   sudo tests/install/package_test.sh FOLDER [PACKAGES]
# FOLDER becomes a minimal Debian 12 (debootstrap), or is one already, and is kept; PACKAGES is the
# folder of the packages, build/package by default. Nothing stays mounted in FOLDER.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(realpath -m "$1")
made=$(realpath "${2:-build/package}")

# In separate namespaces, so that all mounts and processes end with the script.
if [ "${LIME_PACKAGE_TEST:-}" != inside ]; then
  [ "$(id -u)" -eq 0 ] || { echo "package_test: must run as root; start it with sudo"; exit 1; }
  exec env LIME_PACKAGE_TEST=inside unshare --mount --propagation private \
    "$PWD/tests/install/package_test.sh" "$folder" "$made"
fi

fail() {
  echo "package_test: $*"
  exit 1
}

packages=("$made"/lime_*.deb "$made"/lime-dev_*.deb)
[ -s "${packages[0]}" ] || fail "there are no packages in $made; run scripts/package.sh first"
if [ ! -e "$folder/etc/debian_version" ]; then
  debootstrap --variant=minbase bookworm "$folder" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log"; fail "debootstrap failed"; }
fi
printf '#!/bin/sh\nexit 101\n' >"$folder/usr/sbin/policy-rc.d" && chmod +x "$folder/usr/sbin/policy-rc.d"
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
rm -rf "$folder/srv/lime"
mkdir -p "$folder/srv/lime"
cp -r "${packages[@]}" data/lm-lime data/aet-llama tests/install/consumer tests/install/package_trial.sh \
  "$folder/srv/lime"
mount -t proc proc "$folder/proc"

as_root() { chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
  DEBIAN_FRONTEND=noninteractive "$@"; }
# Runs as an ordinary user, who may write only to its home.
as_user() { as_root su - researcher -s /bin/bash -c "$1"; }
install() {
  as_root apt-get install -y --no-install-recommends "$@" >"$folder.log" 2>&1 ||
    { tail -n 20 "$folder.log"; fail "apt-get install $* failed"; }
}

# Total of all packages, in KiB.
installed_size() {
  as_root dpkg-query -W -f '${Installed-Size}\n' | awk '{ sum += $1 } END { print sum }'
}

as_root apt-get update >"$folder.log" 2>&1 || { tail -n 20 "$folder.log"; fail "apt-get update failed"; }
as_root id researcher >/dev/null 2>&1 || as_root useradd --create-home researcher
as_root apt-get purge -y lime lime-dev >/dev/null 2>&1 || true
before=$(installed_size)
(cd "$folder/srv/lime" && mv lime-dev_*.deb lime-dev.deb && mv lime_*.deb lime.deb)
install /srv/lime/lime.deb
echo "lime and what was not there of its dependencies: $((($(installed_size) - before) / 1024)) MiB installed"
install man-db bash-completion desktop-file-utils shared-mime-info
as_user "/srv/lime/package_trial.sh programs"
install /srv/lime/lime-dev.deb g++ cmake ninja-build
as_user "/srv/lime/package_trial.sh development"

as_root apt-get purge -y lime lime-dev >"$folder.log" 2>&1 || fail "apt-get purge failed"
left=$(as_root find / -xdev \( -path /proc -o -path /srv -o -path /home \) -prune -o -name 'lime-*' -print \
  -o -path '/usr/*/lime' -print)
[ -z "$left" ] || fail "purging leaves $left"
rm -rf "$folder/srv/lime"
echo "passed"
