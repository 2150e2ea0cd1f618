# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared by the parts
# Mesa's newest software driver in a folder, without root. Part of ./tango, which sources it.
#
# Debian 13 and its backports carry a Mesa that trains about 1.5 times as fast as the newest for Debian 12.
# apt fetches those packages, from the mirror that this machine uses and with apt's own checks of signatures and
# sums, into a folder that the system does not see. They need Debian 13's C library, which only programs that
# ask for it may load: the folder holds a copy of Deno whose interpreter and library path name it (patchelf).
# Deno.execPath() is then that copy, so that tasks, tests and child processes use it too.
#
#   .tango/software/deno, lib/, lavapipe.json, patchelf, mesa (its version), shader-cache/
#   .tango/software/made     written last: for which project folder and which Deno the folder was made

software=.tango/software
software_refused=.tango/software.refused # why it could not be made here, once another driver did instead
interpreter=ld-linux-x86-64.so.2

can_make_software_driver() {
  [ "$(uname -m)" = x86_64 ] && [ "$(distribution_field ID)" = debian ] &&
    [ "$(distribution_field VERSION_CODENAME)" = bookworm ]
}

made_for() { printf 'layout 1\n%s\n' "$project" && stat -L -c '%n %s %Y' "$deno"; }

software_driver_is_ready() { [ "$(cat "$software/made" 2>/dev/null)" = "$(made_for)" ]; }

choose_software_driver() {
  deno=$project/$software/deno
  export VK_DRIVER_FILES="$project/$software/lavapipe.json"
  export MESA_SHADER_CACHE_DIR="${MESA_SHADER_CACHE_DIR:-$project/$software/shader-cache}"
}

use_software_driver() { # true when it is chosen; otherwise $problem says why it cannot be
  if ! software_driver_is_ready; then
    if [ -f "$software_refused" ] && has_vulkan; then
      problem=$(cat "$software_refused")
      return 1
    fi
    make_software_driver || return 1
  fi
  choose_software_driver
}

refuse_software_driver() { # says and remembers, with the reason "$1", that another driver serves in its place
  printf '%s\n' "$1" >"$software_refused"
  say "using the installed Vulkan driver: Mesa's newest could not be set up in $software ($1). To try again: rm $software_refused"
}

make_software_driver() { # one launch at a time; what an interrupted one left is removed by the next
  mkdir -p .tango
  exec 9>.tango/software.lock
  if command -v flock >/dev/null 2>&1 && ! flock -n 9; then
    say "waiting for another launch that is making $software"
    flock 9
  fi
  trap 'rm -rf "$software.new"; exit 130' HUP INT TERM
  status=0
  software_driver_is_ready || renew_software_driver || status=$?
  trap - HUP INT TERM
  rm -rf "$software.new"
  exec 9>&-
  return "$status"
}

renew_software_driver() {
  if [ "$(sed -n 1p "$software/made" 2>/dev/null)" = 'layout 1' ]; then # moved, copied, or Deno is another
    seat_deno && check_software_driver && return 0
  fi
  say "no usable GPU: fetching Mesa's newest software driver (65 MB of Debian 13's packages, checked by apt) into $software"
  rm -rf "$software.new"
  mkdir -p "$software.new"
  fetch_packages "$project/$software.new/apt" && unpack_packages || return 1
  rm -rf "$software" "$software.new/apt"
  mv "$software.new" "$software" && seat_deno && check_software_driver
}

fetch_packages() { # downloads the driver and all it needs into the folder "$1"
  apt_folder "$1"
  apt_apart "$1"
  wanted="mesa-vulkan-drivers libvulkan1 patchelf"
  problem="no source of Debian 12 is named in /etc/apt"
  for mirror in $(debian_mirrors); do
    fetch_from "$1" "$mirror" trixie trixie-backports && return 0
    for release in "$1"/lists/*_trixie_InRelease; do # a mirror without backports: Debian 13's own Mesa will do
      [ -f "$release" ] && fetch_from "$1" "$mirror" trixie && return 0
    done
  done
  return 1
}

unpack_packages() { # from $software.new/apt into $software.new
  root=$software.new/apt/root
  unpack_fetched "$software.new/apt" || return 1
  if ! mv "$root/usr/lib/x86_64-linux-gnu" "$software.new/lib" || ! mv "$root/usr/bin/patchelf" "$software.new/patchelf"; then
    problem="Debian's packages are laid out in another way than expected"
    return 1
  fi
  # The other drivers and layers of the package are 120 MB, of no use without their GPUs.
  for file in "$software.new"/lib/libvulkan_*.so "$software.new"/lib/libVkLayer_*.so; do
    case $file in */libvulkan_lvp.so) ;; *) rm -f "$file" ;; esac
  done
  take_mesa "$software.new/apt" "$software.new"
}

seat_deno() { # copies $deno into the folder and ties the copy to the folder's libraries
  copy=$software/deno.new
  real=$("$deno" eval --no-config 'console.log(Deno.execPath())' 2>/dev/null)
  if ! cp "$real" "$copy" || ! chmod 755 "$copy" ||
    ! "$software/lib/$interpreter" --library-path "$software/lib" "$software/patchelf" \
      --set-interpreter "$project/$software/lib/$interpreter" --force-rpath --set-rpath "\$ORIGIN/lib" "$copy"; then
    rm -f "$copy"
    problem="the copy of Deno could not be patched"
    return 1
  fi
  rm -f "$software/made"
  mv -f "$copy" "$software/deno"
}

check_software_driver() { # asks the driver for an adapter through the copy of Deno, once
  adapter=$(VK_DRIVER_FILES="$project/$software/lavapipe.json" adapter_of "$software/deno")
  if [ -z "$adapter" ]; then
    problem="Debian 13's Mesa gives Deno no adapter on this machine"
    return 1
  fi
  made_for >"$software/made.new" && mv -f "$software/made.new" "$software/made"
  say "Mesa $(cat "$software/mesa") is ready: $adapter"
}
