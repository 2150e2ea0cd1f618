# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared by the parts
# The Vulkan loader and Mesa's drivers from the distribution. Part of ./tango, which sources it.

packages="libvulkan1 mesa-vulkan-drivers"

distribution_field() { # prints a field of /etc/os-release
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && eval "printf '%s' \"\${$1:-}\"")
}

has_apt() {
  case " $(distribution_field ID) $(distribution_field ID_LIKE) " in
    *" debian "* | *" ubuntu "*) return 0 ;;
  esac
  return 1
}

debian_mirrors() { # prints the URI of each configured source of this Debian release, as apt itself reads them
  apt-get update --print-uris -o Debug::NoLocking=true 2>/dev/null |
    sed -n -E "s#^'(.*)/dists/($(distribution_field VERSION_CODENAME)|stable|oldstable)/InRelease'.*#\1#p" | sort -u
}

signed_by() { # prints the apt option that accepts Debian's own keys alone, where they are kept
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  [ ! -f "$keyring" ] || printf 'signed-by=%s' "$keyring"
}

backports() { # prints the suite with a newer Mesa, if this is a Debian that has one
  case $(distribution_field ID)-$(distribution_field VERSION_CODENAME) in
    debian-bookworm | debian-trixie) printf '%s-backports' "$(distribution_field VERSION_CODENAME)" ;;
  esac
}

offers_backports() { apt-cache policy mesa-vulkan-drivers 2>/dev/null | grep -q "$(backports)"; }

backports_line() { # prints the apt source line for backports, from the mirror in use here
  mirror=$(debian_mirrors | head -n 1)
  [ -n "$mirror" ] || return 1
  key=$(signed_by)
  printf 'deb %s%s %s main' "${key:+[$key] }" "$mirror" "$(backports)"
}

install_command() { # prints the one command that makes a Vulkan adapter appear here
  sudo=
  ! command -v sudo >/dev/null 2>&1 || sudo="sudo "
  case " $(distribution_field ID) $(distribution_field ID_LIKE) " in
    *" debian "* | *" ubuntu "*)
      if [ -z "$(backports)" ]; then
        printf '%sapt-get update && %sapt-get install -y %s' "$sudo" "$sudo" "$packages"
      elif offers_backports || ! line=$(backports_line); then
        printf '%sapt-get update && %sapt-get install -y -t %s %s' "$sudo" "$sudo" "$(backports)" "$packages"
      else
        printf "echo '%s' | %stee /etc/apt/sources.list.d/tango-backports.list && " "$line" "$sudo"
        printf '%sapt-get update && %sapt-get install -y -t %s %s' "$sudo" "$sudo" "$(backports)" "$packages"
      fi
      ;;
    *" fedora "* | *" rhel "*) printf '%sdnf install -y vulkan-loader mesa-vulkan-drivers' "$sudo" ;;
    *" arch "*) printf '%spacman -S --needed vulkan-icd-loader vulkan-swrast' "$sudo" ;;
    *suse*) printf '%szypper install libvulkan1 libvulkan_lvp' "$sudo" ;;
    *) return 1 ;;
  esac
}

may_install() { # sets $as_root to what goes before a command that needs root; false without the right
  has_apt || return 1
  if [ "$(id -u)" = 0 ]; then
    as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
  else
    return 1
  fi
}

apt_problem() { # prints the first error that apt wrote into the log "$1", or its last line
  { grep '^E: ' "$1" || tail -n 1 "$1"; } | head -n 1 | sed 's/^E: //'
}

apt() { # runs apt-get quietly; when it fails $problem says why
  log=$(mktemp)
  status=0
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1 || status=$?
  [ "$status" = 0 ] || problem=$(apt_problem "$log")
  rm -f "$log"
  return "$status"
}

add_backports() { # true when apt can install from backports afterwards
  list=/etc/apt/sources.list.d/tango-backports.list
  offers_backports && return 0
  line=$(backports_line) || return 1
  say "adding $line"
  printf '%s\n' "$line" | $as_root tee "$list" >/dev/null || return 1
  apt update || true # another source may be broken; what counts is whether this one can be read
  offers_backports && return 0
  $as_root rm -f "$list"
  return 1
}

apt_installs() { # installs the newest that apt offers; after may_install. When it fails $problem says why
  say "no Vulkan adapter found: installing $packages with apt"
  apt update || say "apt-get update: $problem; going on with the package lists at hand"
  if [ -n "$(backports)" ]; then
    if add_backports; then
      # shellcheck disable=SC2086
      apt install -y --no-install-recommends -t "$(backports)" $packages && return 0
    fi
    say "$(backports) cannot be used: the release's own Mesa is installed instead"
  fi
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $packages
}

install_distribution_driver() {
  before="no Vulkan adapter found${folder_problem:+, and a software driver could not be fetched into .tango/ ($folder_problem)}."
  if may_install; then
    apt_installs ||
      fail "$before apt could not install $packages either: $problem. Check the network and the sources in /etc/apt, then run this again."
  elif [ -n "${folder_problem:-}" ]; then
    fail "$before Connect this machine to its Debian mirror (or name another in /etc/apt/sources.list) and run this again; or have root type: $(install_command)"
  elif command=$(install_command); then
    fail "$before With root's rights this installs one: $command"
  else
    fail "$before Install the Vulkan loader (libvulkan.so.1) and your GPU's driver or Mesa's software driver (lavapipe), then run this again."
  fi
}
