import { join } from "node:path";
import { exists } from "../platform/files/atomic_file.ts";

/** Removes a folder that holds nothing but empty folders; others stay, without the empty ones. */
export function removeEmptyFolders(folder: string): void {
  if (!exists(folder)) return;
  for (const entry of Deno.readDirSync(folder)) {
    if (entry.isDirectory) removeEmptyFolders(join(folder, entry.name));
  }
  if (Deno.readDirSync(folder).next().done) Deno.removeSync(folder);
}
