#!/bin/sh
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts
# radv.sh FOLDER: Mesa 25.0 with its compiler for AMD GPUs (RADV) in a folder, without root. It compiles for a GPU
# that is not there, when RADV_FORCE_FAMILY names it; Mesa 26.1 no longer does. Run by `machine-code`.
#
# The packages are those of Debian 12's backports, which run with the C library of Debian 12 and of anything newer.
#
#   lib/, lavapipe.json, mesa (its version), made (written last)
#
# Exit code 2 when they cannot be had, with one line on standard output that says why.
set -eu

launcher=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
for part in apt_folder distribution_driver; do
  # shellcheck source=/dev/null
  . "$launcher/$part.sh"
done

refuse() {
  printf '%s\n' "$*"
  exit 2
}

is_ready() { [ "$(cat "$radv/made" 2>/dev/null)" = 'layout 1' ]; }

make() { # into $radv.new
  work=$radv.new/apt
  mkdir -p "$work"
  apt_folder "$work"
  apt_apart "$work"
  wanted="mesa-vulkan-drivers libvulkan1"
  problem="no source of Debian is named in /etc/apt"
  for mirror in $(debian_mirrors); do
    fetch_from "$work" "$mirror" bookworm bookworm-backports && problem= && break
  done
  [ -z "$problem" ] || return 1
  problem="Debian's packages are laid out in another way than expected"
  # The C library is the system's own.
  rm -f "$work"/archives/libc6_*.deb
  unpack_fetched "$work" || return 1
  mkdir "$radv.new/lib"
  for libraries in "$work/root/lib/x86_64-linux-gnu" "$work/root/usr/lib/x86_64-linux-gnu"; do
    [ ! -d "$libraries" ] || cp -a "$libraries"/*.so* "$radv.new/lib/" || return 1
  done
  for file in "$radv.new"/lib/libvulkan_*.so "$radv.new"/lib/libVkLayer_*.so; do
    case $file in */libvulkan_lvp.so | */libvulkan_radeon.so) ;; *) rm -f "$file" ;; esac
  done
  take_mesa "$work" "$radv.new"
  rm -rf "$work" "$radv"
  echo 'layout 1' >"$radv.new/made" && mv "$radv.new" "$radv"
}

mkdir -p "$(dirname -- "$1")"
radv=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/$(basename -- "$1")
if [ "$(uname -m)" != x86_64 ] || [ "$(distribution_field ID)" != debian ] || ! command -v apt-get >/dev/null 2>&1; then
  refuse "Mesa 25.0 for the machine code comes from Debian 12's backports by apt, for amd64: this is $(uname -s) $(uname -m) ($(distribution_field ID))"
fi
exec 9>"$radv.lock"
! command -v flock >/dev/null 2>&1 || flock 9
is_ready && exit 0
printf 'tango: fetching Mesa 25.0 with the compiler for AMD GPUs (59 MB of packages, checked by apt) into %s\n' "$radv" >&2
trap 'rm -rf "$radv.new"; exit 130' HUP INT TERM
rm -rf "$radv.new"
if ! make; then
  rm -rf "$radv.new"
  refuse "Mesa 25.0 for the machine code could not be fetched from Debian's mirror: $problem"
fi
