/** A disk of a few MB, in memory: where this user may mount one (as root, on Linux). */

const BYTES = 16 << 20;

/** Whether tests that need one run, and what is said in the names of those that do not. */
export const SMALL_DISK = findOut();

function findOut(): { readonly isPossible: boolean; readonly why: string } {
  const folder = Deno.makeTempDirSync();
  const isPossible = Deno.build.os === "linux" && run("mount", mounting(folder)) &&
    run("umount", [folder]);
  Deno.removeSync(folder);
  return { isPossible, why: isPossible ? "" : " (skipped: only root may mount a small disk)" };
}

function mounting(folder: string): readonly string[] {
  return ["-t", "tmpfs", "-o", `size=${BYTES}`, "tmpfs", folder];
}

function run(command: string, args: readonly string[]): boolean {
  try {
    return new Deno.Command(command, { args: [...args], stdout: "null", stderr: "null" })
      .outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false; // there is no such command
    throw error;
  }
}

/** With a folder that is such a disk. */
export async function withSmallDisk(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync();
  if (!run("mount", mounting(folder))) throw new Error(`no disk can be mounted at ${folder}`);
  try {
    await body(folder);
  } finally {
    // A process that has only now ended may have held it.
    run("umount", ["--lazy", folder]);
    Deno.removeSync(folder);
  }
}

/** Takes all room that is left, until the file is removed. */
export function fillDisk(path: string): void {
  using file = Deno.openSync(path, { write: true, create: true });
  for (let bytes = new Uint8Array(1 << 16); bytes.length > 0;) {
    try {
      file.writeSync(bytes);
    } catch (error) {
      if (!(error instanceof Error && /\(os error 28\)/.test(error.message))) throw error;
      bytes = bytes.subarray(bytes.length >> 1 || 1);
    }
  }
}
