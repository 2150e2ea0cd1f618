import { endUnjoined } from "../../distributed/mpi/end_unjoined.ts";
import { EXIT } from "../program.ts";
import { launchNotes, type RankWord, type WatchedWord } from "./launch_notes.ts";

const PARENT_CHECK_MS = 500;
/** Time for a launcher to pass on what was printed last. */
const READING_MS = 200;
let line: Deno.UnixConn | null = null;
let isToJoin = false;

/**
 * Tells whoever started this rank with `--ranks` that it is here, and ends it when what started it is gone. It is to join
 * the others.
 */
export async function stayWithLauncher(rank: number): Promise<void> {
  isToJoin = true;
  const parent = Deno.ppid;
  const check = setInterval(() => Deno.ppid === parent || Deno.exit(EXIT.failure), PARENT_CHECK_MS);
  Deno.unrefTimer(check);
  const notes = launchNotes();
  if (notes === null) return;
  line = await Deno.connect({ transport: "unix", path: notes.socket });
  line.unref();
  await tell(line, { type: "here", rank, pid: Deno.pid });
  // Nothing ever comes, but for the end.
  line.read(new Uint8Array(1)).catch(() => null).then(() => Deno.exit(EXIT.failure));
}

/** Tells whoever started this rank how far it is, and what to say when it ends without a word. */
export async function tellLauncher(
  word: WatchedWord | (RankWord & { readonly type: "begun" }),
): Promise<void> {
  if (line !== null) await tell(line, word);
}

/** This rank has joined the others: whatever started them sees to it that they end together. */
export async function joined(): Promise<void> {
  isToJoin = false;
  if (line !== null) await tell(line, { type: "joined" });
}

/** Tells whoever started this rank that it ends now, and how. */
export async function endWithLauncher(code: number): Promise<void> {
  if (line !== null) await tell(line, { type: "end", code });
  if (!isToJoin || code === 0) return;
  await new Promise((resolve) => setTimeout(resolve, READING_MS));
  endUnjoined(code, (name) => Deno.env.get(name));
}

/** One word after the other: a write may take only a part. */
let telling: Promise<void> = Promise.resolve();

function tell(line: Deno.UnixConn, word: RankWord): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify(word)}\n`);
  telling = telling.then(async () => {
    for (let told = 0; told < bytes.length;) told += await line.write(bytes.subarray(told));
  });
  return telling;
}
