#!/bin/sh
# shellcheck disable=SC2034,SC2154 # variables are shared by the parts
# gpu_compiler.sh radv|shim FOLDER: a Mesa in a folder, without root, whose compilers work for GPUs that are not there.
# Run by `machine-code`.
#
# radv: Mesa 25.0 of Debian 12's backports, which runs with the C library of Debian 12 and of anything newer. Its RADV
# takes RADV_FORCE_FAMILY.
# shim: Mesa of Debian 13's backports with mesa-drm-shim, which stands in for the kernel's modules, and with Debian
# 13's C library: a program has to be started through its lib/ld-linux-x86-64.so.2.
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

wanted="mesa-vulkan-drivers libvulkan1"
case $1 in
  radv) release=bookworm kept=radeon title="Mesa 25.0 of Debian 12's backports" size=59 ;;
  shim) release=trixie kept="radeon nouveau" title="Mesa of Debian 13's backports" size=61 wanted="$wanted mesa-drm-shim" ;;
  *) refuse "gpu_compiler.sh takes radv or shim, not $1" ;;
esac

is_ready() { [ "$(cat "$made/made" 2>/dev/null)" = 'layout 1' ]; }

make() { # into $made.new
  work=$made.new/apt
  mkdir -p "$work"
  apt_folder "$work"
  apt_apart "$work"
  problem="no source of Debian is named in /etc/apt"
  for mirror in $(debian_mirrors); do
    fetch_from "$work" "$mirror" "$release" "$release-backports" && problem= && break
  done
  [ -z "$problem" ] || return 1
  problem="Debian's packages are laid out in another way than expected"
  # That of Debian 12 is no newer than the system's own.
  [ "$release" != bookworm ] || rm -f "$work"/archives/libc6_*.deb
  unpack_fetched "$work" || return 1
  mkdir "$made.new/lib"
  for libraries in "$work/root/lib/x86_64-linux-gnu" "$work/root/usr/lib/x86_64-linux-gnu"; do
    [ ! -d "$libraries" ] || cp -a "$libraries"/*.so* "$made.new/lib/" || return 1
  done
  for file in "$made.new"/lib/libvulkan_*.so "$made.new"/lib/libVkLayer_*.so; do
    driver=${file##*/libvulkan_}
    case " lvp $kept " in *" ${driver%.so} "*) ;; *) rm -f "$file" ;; esac
  done
  take_mesa "$work" "$made.new"
  rm -rf "$work" "$made"
  echo 'layout 1' >"$made.new/made" && mv "$made.new" "$made"
}

mkdir -p "$(dirname -- "$2")"
made=$(CDPATH='' cd -- "$(dirname -- "$2")" && pwd)/$(basename -- "$2")
if [ "$(uname -m)" != x86_64 ] || [ "$(distribution_field ID)" != debian ] || ! command -v apt-get >/dev/null 2>&1; then
  refuse "$title, with the compilers for the machine code, is fetched by apt on Debian for amd64: this is $(uname -s) $(uname -m) ($(distribution_field ID))"
fi
exec 9>"$made.lock"
! command -v flock >/dev/null 2>&1 || flock 9
is_ready && exit 0
printf 'tango: fetching %s with its compilers for GPUs (%s MB of packages, checked by apt) into %s\n' "$title" "$size" "$made" >&2
trap 'rm -rf "$made.new"; exit 130' HUP INT TERM
rm -rf "$made.new"
if ! make; then
  rm -rf "$made.new"
  refuse "$title, with the compilers for the machine code, could not be fetched from Debian's mirror: $problem"
fi
