import { basename, dirname, join } from "node:path";

/** Drivers that the Vulkan loader would find on this machine (Linux). */
export interface VulkanDrivers {
  /** Path of libvulkan.so.1, or null. */
  readonly loader: string | null;
  /** Driver manifests in the order in which the loader looks. */
  readonly manifests: readonly DriverManifest[];
}

/** One driver manifest (ICD file). */
export interface DriverManifest {
  readonly path: string;
  /** File name of the driver's library; null when the manifest cannot be read or names none. */
  readonly library: string | null;
}

/**
 * Looks for the loader and its driver manifests where the Vulkan loader's documentation says, and for the loader
 * beside the Deno executable `deno`, where the launcher's software driver has it.
 */
export function findVulkanDrivers(
  environment: (name: string) => string | undefined,
  deno: string = Deno.execPath(),
): VulkanDrivers {
  return {
    loader: findLoader(environment, deno),
    manifests: manifestPaths(environment).map(readManifest),
  };
}

function findLoader(
  environment: (name: string) => string | undefined,
  deno: string,
): string | null {
  const beside = join(dirname(deno), "lib/libvulkan.so.1");
  if (exists(beside)) return beside;
  for (const ldconfig of ["ldconfig", "/sbin/ldconfig", "/usr/sbin/ldconfig"]) {
    try {
      const { stdout } = new Deno.Command(ldconfig, { args: ["-p"], stderr: "null" }).outputSync();
      const line = new TextDecoder().decode(stdout).match(/libvulkan\.so\.1 .*=> (.*)/);
      if (line) return line[1];
      break;
    } catch {
      // Not on PATH: an ordinary user's PATH often has no sbin.
    }
  }
  for (const folder of (environment("LD_LIBRARY_PATH") ?? "").split(":").filter(Boolean)) {
    if (exists(join(folder, "libvulkan.so.1"))) return join(folder, "libvulkan.so.1");
  }
  return null;
}

/** Paths of the driver manifests, in the order in which the loader looks for them. */
export function manifestPaths(environment: (name: string) => string | undefined): string[] {
  const list = (name: string) => (environment(name) ?? "").split(":").filter(Boolean);
  const only = [...list("VK_DRIVER_FILES"), ...list("VK_ICD_FILENAMES")];
  if (only.length > 0) return only.flatMap(manifestsAt);
  const home = environment("HOME");
  const own = (name: string, below: string) =>
    environment(name) ?? (home === undefined ? undefined : join(home, below));
  const roots = [
    own("XDG_CONFIG_HOME", ".config"),
    ...(environment("XDG_CONFIG_DIRS") ? list("XDG_CONFIG_DIRS") : ["/etc/xdg"]),
    "/etc",
    own("XDG_DATA_HOME", ".local/share"),
    ...(environment("XDG_DATA_DIRS") ? list("XDG_DATA_DIRS") : ["/usr/local/share", "/usr/share"]),
  ];
  return [
    ...list("VK_ADD_DRIVER_FILES"),
    ...roots.flatMap((root) => root === undefined ? [] : [join(root, "vulkan/icd.d")]),
  ].flatMap(manifestsAt);
}

/** A manifest, or those of a folder. */
function manifestsAt(path: string): string[] {
  if (path.endsWith(".json")) return [path];
  try {
    return [...Deno.readDirSync(path)].map(({ name }) => name).filter((name) =>
      name.endsWith(".json")
    ).sort().map((name) => join(path, name));
  } catch {
    return [];
  }
}

function readManifest(path: string): DriverManifest {
  try {
    const { library_path: library } = JSON.parse(Deno.readTextFileSync(path)).ICD;
    return { path, library: typeof library === "string" ? basename(library) : null };
  } catch {
    return { path, library: null };
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
