/** A server that is asked hostile things, and what tells that none of them got in. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { serve, type ServerOptions } from "../../../src/server/serve.ts";
import { withFolder, WrittenRun } from "../written_run.ts";

/** Cases of each property; more by the variable, for those who have the time. */
export const CASES = Number(Deno.env.get("TANGO_TEST_HOSTILE") ?? 40);

/** In files that no answer may have a part of. */
const SECRET = "SECRET-of-another-folder";

/** What came back. */
export interface RawAnswer {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** A server with one run, files outside of its folder, and a run's folder with links to them. */
export interface Attacked {
  readonly address: Deno.ConnectOptions;
  /** `host:port`. */
  readonly host: string;
  /** Sends a request as it is, and checks the answer: no error of the server, nothing from outside. */
  readonly send: (request: string | Uint8Array<ArrayBuffer>) => Promise<RawAnswer>;
  /** Checks that no run was begun, and nothing in the folders was changed. */
  readonly assertUntouched: () => Promise<void>;
}

/** With a server for the time of the body. */
export async function withAttacked(
  body: (attacked: Attacked) => Promise<void>,
  options: Partial<ServerOptions> = {},
): Promise<void> {
  await withFolder(async (folder) => {
    const root = join(folder, "runs");
    writeFolders(folder, root);
    await using server = serve({
      ...{ hostname: "127.0.0.1", port: 0, token: null, folders: [], program: "none" },
      models: join(folder, "models"),
      data: join(folder, "data"),
      root,
      ...options,
    });
    const { port } = new URL(server.url);
    const address = { hostname: "127.0.0.1", port: Number(port) };
    const host = `127.0.0.1:${port}`;
    const credentials = options.token ? `authorization: Bearer ${options.token}\r\n` : "";
    const known = `GET /api/runs HTTP/1.1\r\nhost: ${host}\r\n${credentials}\r\n`;
    const send = async (request: string | Uint8Array<ArrayBuffer>) => {
      const answer = await patiently(address, request);
      assert.ok(answer.status < 500, `${answer.head}\n${answer.body}`);
      assert.ok(!`${answer.head}${answer.body}`.includes(SECRET), "a file from outside");
      return answer;
    };
    const runs = async () => {
      const answer = JSON.parse((await send(known)).body);
      return answer.runs.map((run: { id: string; state: string }) => [run.id, run.state]);
    };
    while ((await runs()).length < 1);
    const before = { runs: await runs(), files: filesBelow(folder) };
    await body({
      address,
      host,
      send,
      async assertUntouched() {
        assert.deepEqual({ runs: await runs(), files: filesBelow(folder) }, before);
      },
    });
  });
}

/**
 * Sends bytes and reads one answer, whole by its length or until the server hangs up.
 *
 * @param request without `connection: close`, which is added to its head
 */
export async function exchange(
  address: Deno.ConnectOptions,
  request: string | Uint8Array<ArrayBuffer>,
): Promise<RawAnswer> {
  using connection = await Deno.connect(address);
  const bytes = typeof request === "string" ? new TextEncoder().encode(request) : request;
  const line = bytes.indexOf(0x0a) + 1;
  const closing = new TextEncoder().encode("connection: close\r\n");
  const whole = new Blob([bytes.slice(0, line), closing, bytes.slice(line)]);
  // A server that has refused the head may hang up before it has read the rest.
  void whole.stream().pipeTo(connection.writable, { preventClose: true }).catch(() => {});
  const isHead = new TextDecoder().decode(bytes.subarray(0, 5)) === "HEAD ";
  const decoder = new TextDecoder("latin1");
  const part = new Uint8Array(1 << 16);
  let text = "";
  for (;;) {
    const end = text.indexOf("\r\n\r\n");
    const length = /^content-length: (\d+)/im.exec(text.slice(0, end))?.[1];
    const isWhole = end >= 0 && (isHead || text.length >= end + 4 + Number(length ?? Infinity));
    const count = isWhole ? null : await readFrom(connection, part);
    if (count === null) return rawAnswer(text, end);
    text += decoder.decode(part.subarray(0, count));
  }
}

async function readFrom(connection: Deno.Conn, part: Uint8Array): Promise<number | null> {
  try {
    return await connection.read(part);
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionReset) return null;
    throw error;
  }
}

function rawAnswer(text: string, end: number): RawAnswer {
  const head = end < 0 ? text : text.slice(0, end);
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0);
  return { status, head, body: end < 0 ? "" : text.slice(end + 4) };
}

/** Asks again what was too much for this second. */
async function patiently(
  address: Deno.ConnectOptions,
  request: string | Uint8Array<ArrayBuffer>,
): Promise<RawAnswer> {
  for (;;) {
    const answer = await exchange(address, request);
    if (answer.status !== 429) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function writeFolders(folder: string, root: string): void {
  const outside = join(folder, "outside");
  Deno.mkdirSync(outside);
  for (const name of ["secret.txt", "config.yaml", "state.json"]) {
    Deno.writeTextFileSync(join(outside, name), SECRET);
  }
  Deno.writeTextFileSync(join(folder, "secret.txt"), SECRET);
  const run = new WrittenRun(root, "one", { rollout: { temperature: 1 } });
  run.event({ type: "started", step: 0, total: 5, ranks: 1 });
  run.step(1, "generator", { a: 5 });
  run.sample({});
  const checkpoint = join(run.folder.checkpoints, "step-000001");
  Deno.mkdirSync(join(checkpoint, "generator"), { recursive: true });
  Deno.writeTextFileSync(join(checkpoint, "generator", "model.bin"), "weights");
  Deno.symlinkSync(join(outside, "secret.txt"), join(checkpoint, "link.txt"));
  Deno.symlinkSync(outside, join(checkpoint, "linked"));
  Deno.symlinkSync(outside, join(run.folder.checkpoints, "step-000002"));
}

/** All files but the databases, with their sizes and times. */
function filesBelow(folder: string, inside = ""): string[] {
  return [...Deno.readDirSync(join(folder, inside))].flatMap(({ name, isDirectory }) => {
    const path = join(inside, name);
    if (isDirectory) return [path, ...filesBelow(folder, path)];
    if (/^(index|queue)\.sqlite/.test(name)) return [];
    const { size, mtime } = Deno.lstatSync(join(folder, path));
    return [`${path} ${size} ${mtime?.getTime()}`];
  }).sort();
}
