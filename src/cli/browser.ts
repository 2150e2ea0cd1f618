/** `deno task browser`: writes the page that trains in a tab. */

import { dirname, join } from "node:path";
import type { Command } from "commander";
import { formatBytes } from "../base/format_bytes.ts";
import { exists, writeFolderAtomically } from "../platform/files/atomic_file.ts";
import { programRevision } from "../platform/process/program_revision.ts";
import { UserError } from "../base/user_error.ts";
import { staticFiles } from "../tab/static_files.ts";
import { addExamples } from "./examples.ts";

/** A file that every folder written by this command has, and hardly any other. */
const MARK = "presets/chains.tar";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("browser")
    .description(
      "Writes a static page that trains in a browser tab with WebGPU, with nothing installed. Any web server can " +
        "hand it out; other machines need https://.",
    )
    .option("--folder <folder>", "where it goes, over what an earlier call wrote there", "browser")
    .action(({ folder }: { readonly folder: string }) => writePage(folder));
  addExamples(command, {
    "deno task browser": "the page, into browser/",
    "deno task serve": "hands it out as well, at http://127.0.0.1:8000/browser/",
  });
}

async function writePage(folder: string): Promise<void> {
  if (!mayReplace(folder)) {
    throw new UserError(
      `${folder} holds something else than an earlier call's page. Choose another with --folder.`,
    );
  }
  const files = await staticFiles(programRevision());
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  await writeFolderAtomically({ path: folder, bytes, next: "run the command again" }, (beside) => {
    for (const [path, content] of files) {
      Deno.mkdirSync(dirname(join(beside, path)), { recursive: true });
      Deno.writeFileSync(join(beside, path), content);
    }
    return Promise.resolve();
  });
  console.log(`${folder}: ${files.size} files, ${formatBytes(bytes)}`);
}

/** Whether nothing, an empty folder or an earlier page lies at a path. */
function mayReplace(folder: string): boolean {
  if (!exists(folder)) return true;
  if (!Deno.statSync(folder).isDirectory) return false;
  return [...Deno.readDirSync(folder)].length === 0 || exists(join(folder, MARK));
}
