/** The process of all who ask: it takes orders from `Askers`, a line each, and answers each with a line. */

import type { Arm } from "./arms.ts";
import type { Order } from "./askers.ts";
import { HttpReader } from "./http_reader.ts";
import type { ManyRows } from "./many_rows.ts";
import { readPaths } from "./read_paths.ts";
import { Watcher } from "./watcher.ts";

/** What an order is answered. */
export interface Told {
  /** ms each. */
  readonly reads: readonly number[];
  readonly watchers: string;
}

interface Asked {
  readonly url: string;
  readonly many: string;
  readonly trained: string;
  readonly rows: ManyRows;
}

const { url, many, trained, rows } = JSON.parse(Deno.args[0]) as Asked;
const { hostname, port } = new URL(url);
const address = { hostname, port: Number(port) };
const paths = readPaths(many, trained, rows);
const watchers: Watcher[] = [];
const idle: HttpReader[] = [];
let reads: number[] = [];
let timer: ReturnType<typeof setInterval> | undefined;

/** A read goes out at its time, whatever became of those before. */
async function read(path: string): Promise<void> {
  const begin = performance.now();
  const connection = idle.pop() ?? await HttpReader.connect(address);
  await connection.get(path);
  idle.push(connection);
  reads.push(performance.now() - begin);
}

function become({ watchers: wanted, reads: perSecond, what }: Arm): void {
  while (watchers.length < wanted) watchers.push(new Watcher(address, trained));
  watchers.forEach((watcher, place) => place < wanted ? watcher.open() : watcher.close());
  clearInterval(timer);
  if (perSecond > 0) timer = setInterval(() => void read(paths[what]()), 1000 / perSecond);
}

async function told(order: Order): Promise<Told> {
  switch (order.order) {
    case "become":
      become(order.arm);
      return { reads: [], watchers: "" };
    case "takeReads": {
      const taken = reads;
      reads = [];
      return { reads: taken, watchers: "" };
    }
    case "takeWatchers":
      clearInterval(timer);
      return { reads: [], watchers: await takeWatchers(order.events) };
  }
}

async function takeWatchers(events: number): Promise<string> {
  for (const watcher of watchers) watcher.open();
  for (const watcher of watchers) await watcher.until(events);
  const wrong = watchers.filter(({ isWrong }) => isWrong).length;
  return `${watchers.length} watchers, each told ${events} events: ${
    wrong === 0 ? "exactly once and in their order" : `${wrong} of them not exactly once`
  }`;
}

let rest = "";
for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + text).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) console.log(JSON.stringify(await told(JSON.parse(line))));
}
Deno.exit(0);
