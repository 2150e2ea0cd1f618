import { join } from "node:path";
import { FakeMachine } from "./fake_machine.ts";

/** What a fake machine has; all of it can be changed between two launches. */
export interface Setting {
  readonly root?: boolean;
  /** VERSION_CODENAME of the Debian release. */
  readonly release?: string;
  readonly architecture?: string;
  /** `none`: no network. `release`: a mirror of the machine's own release alone. */
  readonly mirror?: "all" | "none" | "release" | "no backports";
  /** What Deno finds once the distribution's drivers are installed. */
  readonly installed?: string;
}

/** Real tools, and programs that imitate Deno, apt and the packages it brings. */
export class DebianMachine extends FakeMachine {
  constructor(setting: Setting = {}) {
    super();
    this.set(setting);
    this.adapter("");
    this.systemFile("usr/share/keyrings/debian-archive-keyring.gpg");
    this.systemFile("etc/apt/sources.list.d/debian.sources");
    // Prints the adapter of the folder's driver, or what the system's drivers give.
    this.program(
      "deno",
      `
case $1 in
  --version) echo "deno 2.9.6 (stable)" ;;
  eval)
    case $3 in
      *execPath*) echo "$0" ;;
      *) case \${VK_DRIVER_FILES:-} in
           */lavapipe.json) [ ! -f ${this.system}/broken-mesa ] && echo "llvmpipe (LLVM 19.1.7, 256 bits)" ;;
           *) cat ${this.system}/adapter ;;
         esac ;;
    esac ;;
  *) echo "ran $0 driver=\${VK_DRIVER_FILES:-none} path=\${PATH%%:*}" ;;
esac`,
    );
    this.program(
      "dpkg-deb",
      `
root=$3
mkdir -p $root/usr/lib/x86_64-linux-gnu $root/usr/bin $root/usr/share/vulkan/icd.d
printf '#!/bin/sh\\nshift 2\\nexec "$@"\\n' > $root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
: > $root/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so
: > $root/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so
printf '#!/bin/sh\\necho "$@" >> ${this.system}/patchelf\\n' > $root/usr/bin/patchelf
chmod +x $root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 $root/usr/bin/patchelf
echo '{"ICD": {"library_path": "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so"}}' > $root/usr/share/vulkan/icd.d/lvp_icd.json`,
    );
  }

  set(setting: Setting) {
    const { root = false, release = "bookworm", architecture = "x86_64", mirror = "all" } = setting;
    const { installed = "llvmpipe (LLVM 15.0.6, 256 bits)" } = setting;
    this.systemFile("etc/os-release", `ID=debian\nVERSION_CODENAME=${release}\n`);
    this.program("id", `[ "$1" = -u ] && echo ${root ? 0 : 1000} || echo 1000`);
    this.program("uname", `[ "$1" = -m ] && echo ${architecture} || echo Linux`);
    this.program("ldconfig", `cat ${this.system}/libraries 2>/dev/null`);
    this.program("apt-cache", "exit 0");
    const refuses = mirror === "all"
      ? "false"
      : mirror === "no backports"
      ? "grep -q backports $sources"
      : "true";
    this.program(
      "apt-get",
      `
echo "$@" >> ${this.system}/apt
case $2 in
  --print-uris) echo "'http://mirror.test/debian/dists/${release}/InRelease' mirror.test_InRelease 0 "; exit ;;
esac
if [ "$2" = -c ]; then # into the folder
  folder=\${3%/*}
  sources=$folder/sources.list
  cat $sources >> ${this.system}/sources
  [ "${mirror}" != "no backports" ] || : > $folder/lists/mirror.test_dists_trixie_InRelease
  if ${refuses}; then
    echo "E: Failed to fetch http://mirror.test/debian/dists/trixie-backports/InRelease  Not there"
    echo "E: Some index files failed to download."
    exit 100
  fi
  [ "$4" = update ] || : > $folder/archives/mesa-vulkan-drivers_26.1.6-1~bpo13+1_amd64.deb
elif [ "$2" = install ]; then # into the system
  [ ${mirror} = none ] && { echo "E: Unable to locate package libvulkan1"; exit 100; }
  echo "libvulkan.so.1 => here" > ${this.system}/libraries
  mkdir -p ${this.system}/usr/share/vulkan/icd.d
  echo '{}' > ${this.system}/usr/share/vulkan/icd.d/lvp_icd.json
  echo "${installed}" > ${this.system}/adapter
fi`,
    );
  }

  /** What Deno finds with the system's own drivers. */
  adapter(name: string): void {
    this.systemFile("adapter", name);
  }

  /** Installs a loader and a driver's manifest, which alone promise no adapter. */
  installDriver(manifest: string): void {
    this.systemFile("libraries", "\tlibvulkan.so.1 (libc6,x86-64) => /lib/libvulkan.so.1\n");
    this.systemFile(`usr/share/vulkan/icd.d/${manifest}`, "{}");
  }

  /** The calls of apt-get since the last time. */
  aptCalls(): string[] {
    const file = join(this.system, "apt");
    try {
      const calls = Deno.readTextFileSync(file).trim().split("\n");
      Deno.removeSync(file);
      return calls;
    } catch {
      return [];
    }
  }

  /** What a task prints that runs with the driver in the folder. */
  get folderDriver(): string {
    return `ran ${this.project}/.tango/software/deno driver=${this.project}/.tango/software/lavapipe.json ` +
      `path=${this.project}/.tango/software\n`;
  }
}
