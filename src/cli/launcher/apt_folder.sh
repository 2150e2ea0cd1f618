# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared by the parts
# apt in a folder of its own, without root: nothing of the system changes. Part of ./tango, which sources it.

apt_folder() { # lays the folder "$1" out; apt uses it by the option -c "$1/apt.conf", which may be added to
  mkdir -p "$1/lists/partial" "$1/archives/partial" "$1/log"
  # The machine's own apt.conf.d stays in force (proxies, certificates), but not its hooks.
  cat >"$1/apt.conf" <<CONFIGURATION
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
APT::Install-Recommends "false";
APT::Install-Suggests "false";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::State "$1";
Dir::State::lists "$1/lists";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$1";
Dir::Cache::archives "$1/archives";
Dir::Log "$1/log";
CONFIGURATION
}

apt_apart() { # has apt in the folder "$1" look at the sources in its sources.list alone, and at nothing installed
  : >"$1/status"
  cat >>"$1/apt.conf" <<CONFIGURATION
#clear APT::Architectures;
APT::Architectures { "amd64"; };
APT::Default-Release "";
APT::Update::Error-Mode "any";
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::status "$1/status";
CONFIGURATION
}

fetch_from() { # downloads $wanted into the folder "$1" from the mirror "$2" with the suites named next, the last one preferred
  folder=$1
  mirror=$2
  shift 2
  for suite in "$@"; do
    echo "deb [arch=amd64 target=Packages $(signed_by)] $mirror $suite main"
  done >"$folder/sources.list"
  download "$folder" -t "$suite"
}

download() { # downloads $wanted into the folder "$1", with the options of apt-get install named next
  folder=$1
  shift
  for action in update "install -y --download-only $* $wanted"; do
    # shellcheck disable=SC2086
    if ! apt-get -q -c "$folder/apt.conf" $action >"$folder/output" 2>&1; then
      problem=$(apt_problem "$folder/output")
      return 1
    fi
  done
}

take_mesa() { # the version of Mesa in the fetched packages of the folder "$1", and lavapipe's manifest, into the folder "$2"
  for package in "$1"/archives/mesa-vulkan-drivers_*.deb; do
    version=${package##*/mesa-vulkan-drivers_}
    printf '%s\n' "${version%%-*}" >"$2/mesa"
  done
  # The loader reads a path in a manifest relative to that manifest.
  sed 's#"library_path": *"[^"]*"#"library_path": "./lib/libvulkan_lvp.so"#' \
    "$1"/root/usr/share/vulkan/icd.d/lvp_icd*.json >"$2/lavapipe.json"
}

unpack_fetched() { # the packages in the folder "$1" into its folder root
  for package in "$1"/archives/*.deb; do
    if ! dpkg-deb -x "$package" "$1/root" 2>"$1/output"; then
      problem="unpacking ${package##*/}: $(tail -n 1 "$1/output")"
      return 1
    fi
  done
}
