import { join } from "node:path";
import { UserError } from "../../base/user_error.ts";
import { PROJECT_FOLDER } from "./project.ts";

/** Mesa's compiler for AMD GPUs with what it needs, as `launcher/radv.sh` lays it out. */
export interface Radv {
  /** Of the compiler. */
  readonly library: string;
  /** Of Mesa. */
  readonly version: string;
  /** For the process that uses it: a software driver of the same Mesa, and the GPU that is compiled for. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Fetches the compiler if it is not there yet.
 *
 * @throws UserError where it cannot be had
 */
export async function fetchRadv(): Promise<Radv> {
  const folder = join(PROJECT_FOLDER, ".tango/radv");
  const { code, stdout } = await new Deno.Command("sh", {
    args: [join(PROJECT_FOLDER, "src/cli/launcher/radv.sh"), folder],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  const said = new TextDecoder().decode(stdout).trim();
  if (code === 2) throw new UserError(`${said}.`);
  if (code !== 0) throw new Error(`radv.sh ended with ${code}: ${said}`);
  const lavapipe = join(folder, "lavapipe.json");
  return {
    library: join(folder, "lib/libvulkan_radeon.so"),
    version: Deno.readTextFileSync(join(folder, "mesa")).trim(),
    environment: {
      LD_LIBRARY_PATH: join(folder, "lib"),
      VK_DRIVER_FILES: lavapipe,
      VK_ICD_FILENAMES: lavapipe,
      MESA_SHADER_CACHE_DISABLE: "true",
      RADV_FORCE_FAMILY: "navi31",
    },
  };
}
