import { z } from "@hono/zod-openapi";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import type { RunFolder } from "../../run/store/run_folder.ts";

/** What a person has written of a run, to find it by. */
export const notesSchema = z.object({
  tags: z.array(
    z.string().regex(
      /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,49}$/u,
      "expected a word of at most 50 characters",
    ),
  ).max(50),
  note: z.string().max(10_000),
});
export type RunNotes = z.infer<typeof notesSchema>;

const NONE: RunNotes = { tags: [], note: "" };

/** Of a run whose folder has none, and of a file that is none of this program's: no tags and an empty note. */
export function readNotes({ notes }: RunFolder): RunNotes {
  try {
    return notesSchema.safeParse(JSON.parse(Deno.readTextFileSync(notes))).data ?? NONE;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return NONE;
    throw error;
  }
}

/** Changes what is given; it lies in the run's folder and goes where that goes. */
export function changeNotes(folder: RunFolder, { tags, note }: Partial<RunNotes>): void {
  const before = readNotes(folder);
  const changed = { tags: tags ? [...new Set(tags)] : before.tags, note: note ?? before.note };
  writeFileAtomically(folder.notes, `${JSON.stringify(changed, null, 2)}\n`, "try again");
}
