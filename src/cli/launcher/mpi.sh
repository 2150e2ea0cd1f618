# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared by the parts
# MPICH in a folder, without root, for --ranks on a machine without MPI. Part of ./tango, which sources it.
#
# PyPI's wheel runs on any Linux and on macOS; where there is no pip, Debian and Ubuntu have a package, which apt
# fetches from the mirror that this machine uses, with all it needs that is not installed.
#
#   .tango/mpi/bin/mpiexec, lib/

mpi=.tango/mpi
mpich_version=5.0.2 # of the wheel

is_rank() { # true in a process that mpirun or srun has started among others
  [ "${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-${SLURM_STEP_NUM_TASKS:-1}}}" != 1 ]
}

wants_ranks() { # true when the arguments "$@" ask this process to start several ranks
  ! is_rank || return 1
  before=
  for argument in "$@"; do
    case $argument in
      --ranks=*)
        before=--ranks
        argument=${argument#--ranks=}
        ;;
    esac
    if [ "$before" = --ranks ]; then
      case $argument in
        '' | 0 | 1 | *[!0-9]*) ;;
        *) return 0 ;;
      esac
    fi
    before=$argument
  done
  return 1
}

has_mpiexec() {
  command -v mpiexec >/dev/null 2>&1 || command -v mpirun >/dev/null 2>&1 || [ -x "$mpi/bin/mpiexec" ]
}

ensure_mpi() { # one launch at a time; what an interrupted one left is removed by the next
  has_mpiexec && return 0
  mkdir -p .tango
  exec 9>.tango/mpi.lock
  ! command -v flock >/dev/null 2>&1 || flock 9
  trap 'rm -rf "$mpi.new"; exit 130' HUP INT TERM
  if ! has_mpiexec; then
    rm -rf "$mpi.new" "$mpi"
    mkdir -p "$mpi.new"
    if ! fetch_mpi_wheel && ! fetch_mpi_packages; then
      rm -rf "$mpi.new"
      fail "--ranks needs MPI, and this machine has no mpiexec. It could not be brought along: $wheel_problem; $packages_problem. Install MPICH or Open MPI (Debian, Ubuntu: apt install mpich; Fedora: dnf install mpich; macOS: brew install mpich) and run this again."
    fi
    mv "$mpi.new" "$mpi"
  fi
  trap - HUP INT TERM
  rm -rf "$mpi.new"
  exec 9>&-
}

pip_command() { # prints the command that is pip here
  for python in python3 python; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      printf '%s -m pip' "$python"
      return 0
    fi
  done
  return 1
}

fetch_mpi_wheel() { # into $mpi.new; when it fails $wheel_problem says why
  wheel_problem="there is no pip for PyPI's package mpich"
  pip=$(pip_command) || return 1
  say "no mpiexec on PATH: fetching MPICH $mpich_version (PyPI's package mpich) into $mpi"
  # shellcheck disable=SC2086
  if ! $pip install --quiet --disable-pip-version-check --no-input --no-deps --only-binary :all: --ignore-installed \
    --prefix "$project/$mpi.new/wheel" "mpich==$mpich_version" >"$mpi.new/output" 2>&1; then
    wheel_problem="pip said \"$({ grep '^ERROR: ' "$mpi.new/output" || cat "$mpi.new/output"; } | tail -n 1)\""
    return 1
  fi
  for place in "$mpi.new/wheel" "$mpi.new/wheel/local"; do # the second is Debian's way
    take_mpi "$place" "$place/lib" && return 0
  done
  wheel_problem="PyPI's package mpich is laid out in another way than expected"
  return 1
}

fetch_mpi_packages() { # into $mpi.new; when it fails $packages_problem says why
  packages_problem="apt, for the package mpich, is not on this system"
  has_apt && command -v apt-get >/dev/null 2>&1 && command -v dpkg-deb >/dev/null 2>&1 || return 1
  say "no mpiexec on PATH: fetching the distribution's package mpich into $mpi"
  folder=$project/$mpi.new/apt
  apt_folder "$folder"
  wanted=mpich
  if ! download "$folder"; then
    packages_problem="apt said \"$problem\""
    return 1
  fi
  if ! unpack_fetched "$folder"; then
    packages_problem=$problem
    return 1
  fi
  for libraries in "$folder"/root/usr/lib/*-linux-gnu*; do
    take_mpi "$folder/root/usr" "$libraries" && return 0
  done
  packages_problem="the package mpich is laid out in another way than expected"
  return 1
}

take_mpi() { # moves what is needed out of the folder "$1", with the libraries "$2", to its place in $mpi.new
  [ -d "$1/bin" ] && [ -d "$2" ] || return 1
  mv "$2" "$mpi.new/lib" && mv "$1/bin" "$mpi.new/bin" || return 1
  [ -x "$mpi.new/bin/mpiexec" ] || ln -s mpiexec.hydra "$mpi.new/bin/mpiexec"
  rm -rf "$mpi.new/wheel" "$mpi.new/apt" "$mpi.new/output"
  [ -x "$mpi.new/bin/mpiexec" ]
}
