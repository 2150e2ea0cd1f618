import { dirname, join, resolve } from "node:path";
import { findVulkanDrivers } from "../../../src/platform/gpus/vulkan_drivers.ts";

/**
 * A second software adapter beside the first: a copy of the driver's library that calls itself and its device by other
 * names. What Vulkan then lists is two GPUs.
 */
export class TwoAdapters implements Disposable {
  readonly #folder = Deno.makeTempDirSync();
  /** With these variables a process has both. */
  readonly environment: Readonly<Record<string, string>>;

  /** @returns null where there is no software driver to be copied */
  static make(): TwoAdapters | null {
    const { manifests } = findVulkanDrivers((name) => Deno.env.get(name));
    const manifest = manifests.find(({ library }) => library === "libvulkan_lvp.so");
    return manifest === undefined ? null : new TwoAdapters(manifest.path);
  }

  private constructor(manifest: string) {
    const content = JSON.parse(Deno.readTextFileSync(manifest));
    const { library_path: driver } = content.ICD;
    const bytes = Deno.readFileSync(libraryOf(manifest, String(driver)));
    replace(bytes, "(LLVM ", "(MVLL "); // in the adapter's name, and in the driver's for Dawn
    replace(bytes, "UUID", "UUIE"); // in the unique identifier, which spells llvmpipeUUID
    const copy = join(this.#folder, "libvulkan_lvp.so");
    Deno.writeFileSync(copy, bytes);
    const second = join(this.#folder, "second.json");
    Deno.writeTextFileSync(
      second,
      JSON.stringify({ ...content, ICD: { ...content.ICD, library_path: copy } }),
    );
    this.environment = { VK_DRIVER_FILES: `${manifest}:${second}`, VK_ICD_FILENAMES: "" };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

/** A manifest names its library by a path, maybe from where it lies, or for the system to find. */
function libraryOf(manifest: string, path: string): string {
  if (path.includes("/")) return resolve(dirname(manifest), path);
  for (const line of Deno.readTextFileSync("/proc/self/maps").split("\n")) {
    if (line.endsWith(`/${path}`)) return line.slice(line.indexOf("/"));
  }
  return join("/usr/lib", `${Deno.build.arch}-linux-gnu`, path);
}

/** Replaces a text wherever it stands, by one as long. */
function replace(bytes: Uint8Array, from: string, to: string): void {
  const text = new TextDecoder("latin1").decode(bytes); // a byte is a letter
  if (!text.includes(from)) throw new Error(`the software driver nowhere says ${from}`);
  for (let i = text.indexOf(from); i >= 0; i = text.indexOf(from, i + 1)) {
    bytes.set(new TextEncoder().encode(to), i);
  }
}
