import assert from "node:assert/strict";
import { type ReadOptions, streamRows } from "../../../src/data/files/read_rows.ts";
import type { Row } from "../../../src/data/files/row.ts";
import { UserError } from "../../../src/base/user_error.ts";

/** The folder of the small data files that tests read. */
export const FIXTURES = new URL("../../fixtures/data", import.meta.url).pathname;

/** Runs a body with a folder that holds the given files; keys are paths in it. */
export async function withFiles<T>(
  files: Record<string, string | Uint8Array>,
  body: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [path, content] of Object.entries(files)) {
      await Deno.mkdir(`${folder}/${path.split("/").slice(0, -1).join("/")}`, { recursive: true });
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      await Deno.writeFile(`${folder}/${path}`, bytes);
    }
    return await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The message of the UserError that an action ends with. */
export async function messageOf(action: () => unknown): Promise<string> {
  try {
    await action();
  } catch (error) {
    assert.ok(error instanceof UserError, String(error));
    return error.message;
  }
  assert.fail("no error");
}

/** The message of the UserError that reading one file ends with, the folder's name cut off. */
export function messageOfFile(
  name: string,
  content: string | Uint8Array,
  read: (path: string) => Promise<unknown>,
): Promise<string> {
  return withFiles({ [name]: content }, async (folder) => {
    const message = await messageOf(() => read(`${folder}/${name}`));
    return message.replaceAll(`${folder}/`, "");
  });
}

/** Text as gzip compresses it. */
export async function gzip(text: string): Promise<Uint8Array> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** All rows at a path. */
export async function readRows(path: string, options: ReadOptions = {}): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const { row } of streamRows(path, options)) rows.push(row);
  return rows;
}
