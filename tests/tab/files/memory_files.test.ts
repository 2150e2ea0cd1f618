/** The file system in memory beside Deno's own: the same calls, the same results and errors. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { MemoryFiles } from "../../../src/tab/files/memory_files.ts";

/** What both file systems have. */
type Files =
  & Pick<
    typeof Deno,
    | "lstatSync"
    | "mkdirSync"
    | "readDirSync"
    | "readFileSync"
    | "removeSync"
    | "renameSync"
    | "truncateSync"
  >
  & {
    openSync(path: string, options: Deno.OpenOptions): {
      readSync(into: Uint8Array): number | null;
      writeSync(bytes: Uint8Array): number;
      seekSync(offset: number, whence: number): number;
      statSync(): { isFile: boolean };
      close(): void;
    };
  };

type Call = (files: Files, root: string) => unknown;

const path = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("/"));
const bytes = fc.uint8Array({ maxLength: 9 });
const openings: Deno.OpenOptions[] = [
  { read: true },
  { write: true },
  { write: true, create: true, truncate: true },
  { write: true, createNew: true },
  { append: true, create: true },
  { read: true, write: true, create: true },
  { read: true, append: true },
];

/** Writes, moves and reads in a file that is open, as far as its opening allows. */
const inFile = fc.array(
  fc.oneof(
    bytes.map((content) => ({ does: "write", content }) as const),
    fc.nat(9).map((count) => ({ does: "read", count }) as const),
    fc.tuple(fc.integer({ min: -4, max: 9 }), fc.constantFrom(0, 1, 2))
      .map(([offset, whence]) => ({ does: "seek", offset, whence }) as const),
  ),
  { maxLength: 5 },
);

const opened = fc.tuple(path, fc.constantFrom(...openings), inFile).map(
  ([at, opening, actions]): [string, Call] => [
    `open ${at} ${JSON.stringify(opening)} ${JSON.stringify(actions)}`,
    (files, root) => {
      const file = files.openSync(`${root}/${at}`, opening);
      try {
        return [
          ...actions.map((action) => {
            // A folder's end is wherever its file system says.
            if (!file.statSync().isFile) return null;
            if (action.does === "seek") {
              return of(() => file.seekSync(action.offset, action.whence));
            }
            if (action.does === "write") {
              return opening.write || opening.append ? file.writeSync(action.content) : null;
            }
            if (!opening.read) return null;
            const into = new Uint8Array(action.count);
            return [of(() => file.readSync(into)), [...into]];
          }),
        ];
      } finally {
        file.close();
      }
    },
  ],
);

const call: fc.Arbitrary<[string, Call]> = fc.oneof(
  { weight: 3, arbitrary: opened },
  fc.tuple(path, fc.boolean()).map(([at, recursive]): [string, Call] => [
    `mkdir ${at} ${recursive}`,
    (files, root) => files.mkdirSync(`${root}/${at}`, { recursive }),
  ]),
  fc.tuple(path, fc.boolean()).map(([at, recursive]): [string, Call] => [
    `remove ${at} ${recursive}`,
    (files, root) => files.removeSync(`${root}/${at}`, { recursive }),
  ]),
  fc.tuple(path, path).map(([from, to]): [string, Call] => [
    `rename ${from} ${to}`,
    (files, root) => files.renameSync(`${root}/${from}`, `${root}/${to}`),
  ]),
  fc.tuple(path, fc.nat(12)).map(([at, length]): [string, Call] => [
    `truncate ${at} ${length}`,
    (files, root) => files.truncateSync(`${root}/${at}`, length),
  ]),
  path.map((at): [string, Call] => [
    `readdir ${at}`,
    (files, root) => [...files.readDirSync(`${root}/${at}`)].map(({ name }) => name).sort(),
  ]),
);

/** What a call gives, or how its error is called. */
function of(body: () => unknown): unknown {
  try {
    return body() ?? null;
  } catch (error) {
    return `${(error as Error).name} ${/os error \d+/.exec((error as Error).message)?.[0]}`;
  }
}

/** All that lies below a folder, with the files' bytes. */
function treeOf(files: Files, folder: string): unknown {
  return Object.fromEntries(
    [...files.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1).map((
      { name, isDirectory },
    ) => [
      name,
      isDirectory
        ? treeOf(files, `${folder}/${name}`)
        : [files.lstatSync(`${folder}/${name}`).size, ...files.readFileSync(`${folder}/${name}`)],
    ]),
  );
}

Deno.test("memory files: any calls give what Deno's give, and leave the same tree", () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 25 }), (calls) => {
      const root = Deno.makeTempDirSync();
      const memory = new MemoryFiles();
      memory.mkdirSync(root, { recursive: true });
      try {
        for (const [name, body] of calls) {
          const expected = of(() => body(Deno, root));
          assert.deepEqual(of(() => body(memory as unknown as Files, root)), expected, name);
        }
        assert.deepEqual(treeOf(memory as unknown as Files, root), treeOf(Deno, root));
      } finally {
        Deno.removeSync(root, { recursive: true });
      }
    }),
    { numRuns: 400 },
  );
});

Deno.test("memory files: bytes that lie elsewhere are read where asked for, and copied before they change", () => {
  const source = Uint8Array.from({ length: 10 }, (_, index) => index);
  const asked: [number, number][] = [];
  const files = new MemoryFiles();
  files.mkdirSync("/models");
  files.place("/models/big", {
    size: source.length,
    read: (begin, end) => {
      asked.push([begin, end]);
      return source.slice(begin, end);
    },
  });
  assert.equal(files.statSync("/models/big").size, 10);
  const file = files.openSync("/models/big");
  file.seekSync(4, 0);
  const into = new Uint8Array(3);
  assert.equal(file.readSync(into), 3);
  assert.deepEqual([...into], [4, 5, 6]);
  assert.deepEqual(asked, [[4, 7]]);
  files.openSync("/models/big", { append: true }).writeSync(Uint8Array.of(99));
  assert.deepEqual([...files.readFileSync("/models/big")], [...source, 99]);
  assert.equal(source.length, 10);
});

Deno.test("memory files: the files below a folder, and a mark that tells what was written since", () => {
  const files = new MemoryFiles();
  files.mkdirSync("/run/weights", { recursive: true });
  files.writeFileSync("/run/weights/model", Uint8Array.of(1));
  files.writeFileSync("/run/log", Uint8Array.of(2, 3));
  assert.deepEqual([...files.filesBelow("/run")], [
    { path: "log", bytes: Uint8Array.of(2, 3) },
    { path: "weights/model", bytes: Uint8Array.of(1) },
  ]);
  const before = files.markSync("/run/log");
  files.writeFileSync("/run/log", Uint8Array.of(4, 5));
  assert.notDeepEqual(files.markSync("/run/log"), before);
});
