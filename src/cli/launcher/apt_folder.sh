# shellcheck shell=sh
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
