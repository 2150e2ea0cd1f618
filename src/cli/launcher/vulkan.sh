# shellcheck shell=sh disable=SC2034,SC2154 # variables are shared by the parts
# Sees to a Vulkan adapter on Linux. Part of ./tango, which sources it.
#
# In this order: the driver that the user names, a GPU with its own driver, Mesa's newest software driver
# in .tango/software (Debian 12 on amd64, whose own is years old), what the distribution installs.

ensure_vulkan() {
  if [ -n "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}${VK_ADD_DRIVER_FILES:-}" ]; then
    # A loader may also come with Deno itself, as in a folder made by software_driver.sh.
    has_vulkan_loader || [ -n "$(adapter_of "$deno")" ] || install_distribution_driver
    return 0
  fi
  use_container_nvidia_driver
  if can_make_software_driver; then
    gpu_works && return 0
    if [ -n "$(gpu_device_files)" ]; then
      # A GPU whose driver is not installed: with root's rights its own comes first.
      if ! has_vulkan && may_install && apt_installs; then
        gpu_works && return 0
      fi
      say "this machine shows a GPU ($(gpu_device_files | head -n 1)) that no Vulkan driver serves to this user: using the CPU. ./tango doctor says what is missing."
    fi
    unset VK_DRIVER_FILES
    use_software_driver && return 0
    folder_problem=$problem
  fi
  has_vulkan || install_distribution_driver
  [ -z "${folder_problem:-}" ] || refuse_software_driver "$folder_problem"
}

use_ready_vulkan() { # the same choice, as far as it needs nothing to be installed
  [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}${VK_ADD_DRIVER_FILES:-}" ] || return 0
  use_container_nvidia_driver
  if can_make_software_driver && software_driver_is_ready && ! gpu_works; then
    choose_software_driver
  fi
}

has_vulkan() { has_vulkan_loader && has_vulkan_driver; }

has_vulkan_loader() {
  for ldconfig in ldconfig /sbin/ldconfig /usr/sbin/ldconfig; do
    if command -v "$ldconfig" >/dev/null 2>&1; then
      "$ldconfig" -p 2>/dev/null | grep -q 'libvulkan\.so\.1' && return 0
      break
    fi
  done
  old_ifs=$IFS
  IFS=:
  for directory in ${LD_LIBRARY_PATH:-}; do
    if [ -e "$directory/libvulkan.so.1" ]; then
      IFS=$old_ifs
      return 0
    fi
  done
  IFS=$old_ifs
  return 1
}

driver_manifests() { # prints every driver manifest that exists where the loader looks
  old_ifs=$IFS
  IFS=:
  # shellcheck disable=SC2086
  set -- ${VK_DRIVER_FILES:-} ${VK_ICD_FILENAMES:-} ${VK_ADD_DRIVER_FILES:-}
  for directory in ${XDG_CONFIG_DIRS:-/etc/xdg} /etc "${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}" \
    ${XDG_DATA_DIRS:-/usr/local/share:/usr/share}; do
    set -- "$@" "$directory/vulkan/icd.d"
  done
  IFS=$old_ifs
  for place in "$@"; do
    for manifest in "$place" "$place"/*.json; do
      [ ! -f "$manifest" ] || printf '%s\n' "$manifest"
    done
  done
}

has_vulkan_driver() { [ -n "$(driver_manifests)" ]; }

use_container_nvidia_driver() { # some containers mount NVIDIA's driver here and do not tell the loader
  manifest=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
  [ -f "$manifest" ] || return 0
  for other in /etc/vulkan/icd.d/*nvidia* /usr/share/vulkan/icd.d/*nvidia*; do
    [ -f "$other" ] && return 0
  done
  export VK_DRIVER_FILES="$manifest"
  egl=/usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json
  [ ! -f "$egl" ] || export __EGL_VENDOR_LIBRARY_FILENAMES="$egl"
}

# --- is there a GPU? ----------------------------------------------------------------------------

gpu_device_files() { # prints the device files of GPUs that the operating system shows
  for node in /dev/dri/renderD* /dev/nvidia[0-9]* /dev/dxg; do
    [ ! -e "$node" ] || printf '%s\n' "$node"
  done
}

adapter_of() { # prints the name of the adapter that Deno "$1" finds, or nothing
  DENO_WEBGPU_BACKEND=vulkan "$1" eval --no-config \
    'const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
     if (adapter) console.log(adapter.info.description || adapter.info.device || "unnamed adapter");' 2>/dev/null || true
}

# A device file alone says little (virtual machines and servers' consoles have one) and a manifest even less
# (Mesa's package installs those of every GPU), so the driver is asked. The answer is kept while files stay.
gpu_works() {
  devices=$(gpu_device_files)
  [ -n "$devices" ] && has_vulkan || return 1
  # shellcheck disable=SC2012,SC2046,SC2086
  evidence=$(printf '%s\n' "$deno"; id -G; ls -lL $devices $(driver_manifests) 2>/dev/null)
  if [ "$(sed 1d .tango/gpu 2>/dev/null)" != "$evidence" ]; then
    mkdir -p .tango
    printf '%s\n%s\n' "$(adapter_of "$deno")" "$evidence" >".tango/gpu.$$" && mv -f ".tango/gpu.$$" .tango/gpu
  fi
  case $(head -n 1 .tango/gpu) in
    '' | *llvmpipe* | *lavapipe* | *SwiftShader*) return 1 ;;
  esac
}
