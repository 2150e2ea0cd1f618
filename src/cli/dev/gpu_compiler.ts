import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { PROJECT_FOLDER } from "./project.ts";

/** How Mesa compiles for a GPU that is not there. */
interface AbsentGpu {
  readonly title: string;
  /** Mesa's driver, and its library. */
  readonly driver: string;
  readonly library: string;
  /** Which Mesa of `launcher/gpu_compiler.sh`, with its folder in .tango. */
  readonly mesa: "radv" | "shim";
  readonly folder: string;
  /** Stand-in for the kernel's module, loaded before everything else. */
  readonly shim?: string;
  /** Names the GPU to the driver or to the stand-in. */
  readonly environment: Readonly<Record<string, string>>;
}

const absentGpus = {
  rdna3: {
    ...{ title: "AMD's RDNA3 (navi31)", driver: "RADV", library: "libvulkan_radeon.so" },
    ...{ mesa: "radv", folder: "radv", environment: { RADV_FORCE_FAMILY: "navi31" } },
  },
  rdna4: {
    ...{ title: "AMD's RDNA4 (gfx1201)", driver: "RADV", library: "libvulkan_radeon.so" },
    ...{ mesa: "shim", folder: "drm-shim", shim: "libamdgpu_noop_drm_shim.so" },
    environment: { AMDGPU_GPU_ID: "gfx1201" },
  },
  ga102: {
    ...{ title: "NVIDIA's GA102", driver: "NVK", library: "libvulkan_nouveau.so" },
    ...{ mesa: "shim", folder: "drm-shim", shim: "libnouveau_noop_drm_shim.so" },
    environment: { NOUVEAU_CHIPSET: "172" },
  },
} as const satisfies Record<string, AbsentGpu>;

/** GPUs that kernels are compiled for. */
export type CompiledGpu = keyof typeof absentGpus;
export const compiledGpus = Object.keys(absentGpus) as CompiledGpu[];

/** A compiler for a GPU that is not there, and how a process that uses it is started. */
export interface GpuCompiler {
  /** The compiler with its version and the GPU. */
  readonly title: string;
  /** Of the driver. */
  readonly library: string;
  /** Words before the process' own. */
  readonly through: readonly string[];
  /** Beside the GPU, a software driver of the same Mesa. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Fetches the compiler for a GPU if it is not there yet.
 *
 * @throws UserError where it cannot be had
 */
export async function fetchGpuCompiler(gpu: CompiledGpu): Promise<GpuCompiler> {
  const { title, driver, library, mesa, shim, environment, ...names }: AbsentGpu = absentGpus[gpu];
  const folder = join(PROJECT_FOLDER, ".tango", names.folder);
  const { code, stdout } = await new Deno.Command("sh", {
    args: [join(PROJECT_FOLDER, "src/cli/launcher/gpu_compiler.sh"), mesa, folder],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  const said = new TextDecoder().decode(stdout).trim();
  if (code === 2) throw new UserError(`${said}.`);
  if (code !== 0) throw new Error(`gpu_compiler.sh ended with ${code}: ${said}`);
  const lib = join(folder, "lib");
  const lavapipe = join(folder, "lavapipe.json");
  const version = Deno.readTextFileSync(join(folder, "mesa")).trim();
  return {
    title: `${driver} of Mesa ${version} for ${title}`,
    library: join(lib, library),
    through: shim === undefined ? [] : loader(lib, join(lib, shim)),
    environment: {
      ...(shim === undefined ? { LD_LIBRARY_PATH: lib } : {}),
      VK_DRIVER_FILES: lavapipe,
      VK_ICD_FILENAMES: lavapipe,
      MESA_SHADER_CACHE_DISABLE: "true",
      ...environment,
    },
  };
}

/** Starts a program with a folder's own C library; the stand-in reaches that process alone, not its children. */
function loader(lib: string, shim: string): string[] {
  // A Deno tied to another folder's libraries would mix two C libraries: "" is the program's name to the loader.
  const own = ["--inhibit-rpath", "", "--library-path", lib];
  return [join(lib, "ld-linux-x86-64.so.2"), ...own, "--preload", shim];
}
