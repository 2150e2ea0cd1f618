/** One server alone serves a folder of runs: two would write over each other in its databases. */

import { z } from "zod";
import { writeAll } from "../platform/files/atomic_file.ts";
import { UserError } from "../base/user_error.ts";

/** What the file says of the server that holds it. */
const holderSchema = z.object({ pid: z.int(), url: z.string().nullable() });

/** A file that one process holds at a time; the system lets go of it when the process ends, however that comes. */
export class ServerLock implements Disposable {
  readonly #file: Deno.FsFile;

  /**
   * Takes it.
   *
   * @param root the folder of the runs
   * @throws UserError when another server has it, or it cannot be had
   */
  constructor(path: string, root: string) {
    const another = "choose another folder with --runs";
    try {
      this.#file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
    } catch (error) {
      throw new UserError(
        `${path} cannot be opened: ${(error as Error).message}. Mend that, or ${another}.`,
      );
    }
    try {
      if (!this.#file.tryLockSync(true)) {
        const { name, end } = holderOf(path);
        throw new UserError(
          `${root} is served by ${name} already. Use that one, end it${end}, or ${another}.`,
        );
      }
      this.tell(null);
    } catch (error) {
      this.#file.close();
      if (error instanceof UserError) throw error;
      throw new UserError(
        `${path} cannot be locked: ${(error as Error).message}. Mend that, or ${another}.`,
      );
    }
  }

  /** Says where the server is reached; null: nowhere yet. */
  tell(url: string | null): void {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ pid: Deno.pid, url })}\n`);
    this.#file.seekSync(0, Deno.SeekMode.Start);
    writeAll(this.#file, bytes); // over what is there, for which a full disk has room
    this.#file.truncateSync(bytes.length);
  }

  /** The file stays: another server may be opening it at this moment. */
  [Symbol.dispose](): void {
    this.#file.close();
  }
}

/** Who holds it, and how to end that, in words. */
function holderOf(path: string): { readonly name: string; readonly end: string } {
  try {
    const { pid, url } = holderSchema.parse(JSON.parse(Deno.readTextFileSync(path)));
    const place = url === null ? "" : ` at ${url}`;
    return { name: `process ${pid}${place}`, end: ` (kill -INT ${pid})` };
  } catch {
    return { name: "another server", end: "" }; // which is about to write it
  }
}
