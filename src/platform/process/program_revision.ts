import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exists } from "../files/atomic_file.ts";

const PROJECT = fileURLToPath(new URL("../../..", import.meta.url));

/**
 * The commit that this program's clone stands at, from its git folder; null where there is none. Changes that are not
 * committed do not show.
 *
 * @param project the clone's folder
 */
export function programRevision(project: string = PROJECT): string | null {
  const git = join(project, ".git");
  const head = textOf(join(git, "HEAD"));
  const reference = /^ref: (.+)$/.exec(head ?? "")?.[1];
  if (reference === undefined) return head;
  const packed = textOf(join(git, "packed-refs"))?.split("\n")
    .find((line) => line.endsWith(` ${reference}`));
  return textOf(join(git, reference)) ?? packed?.split(" ")[0] ?? null;
}

/** What a file says, without the space around it; null where there is none, or it says nothing. */
function textOf(path: string): string | null {
  if (!exists(path) || !Deno.statSync(path).isFile) return null;
  return Deno.readTextFileSync(path).trim() || null;
}
