import assert from "node:assert/strict";
import { join } from "node:path";
import {
  writeFileAtomically,
  writeFolderAtomically,
  writePiecesDurably,
} from "../../../src/platform/files/atomic_file.ts";

async function withFolder(body: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

const namesIn = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name);

Deno.test("atomic file: replaces content and leaves nothing beside it", async () => {
  await withFolder((parent) => {
    const path = join(parent, "file");
    writeFileAtomically(path, "old and longer");
    writeFileAtomically(path, "new");
    assert.equal(Deno.readTextFileSync(path), "new");
    assert.deepEqual(namesIn(parent), ["file"]);
  });
});

Deno.test("atomic file: one that the disk does not take leaves the old one, and is a user's error", async () => {
  await withFolder((parent) => {
    const path = join(parent, "file");
    writeFileAtomically(path, "old");
    Deno.symlinkSync("/dev/full", `${path}.tmp`);
    assert.throws(() => writeFileAtomically(path, "new"), {
      name: "UserError",
      message: `${path}: the disk is full. Make room and run the command again.`,
    });
    assert.equal(Deno.readTextFileSync(path), "old");
    assert.deepEqual(namesIn(parent), ["file"]);
  });
});

Deno.test("atomic folder: a failure while it is filled leaves the old one", async () => {
  await withFolder(async (parent) => {
    const path = join(parent, "folder");
    const writing = { path, bytes: 3, next: "go on" };
    const fill = (...text: string[]) => async (folder: string) => {
      await writePiecesDurably(
        join(folder, "a"),
        async function* () {
          for (const piece of text) yield new TextEncoder().encode(piece);
        }(),
      );
    };
    await writeFolderAtomically(writing, fill("o", "l", "d"));
    await assert.rejects(
      writeFolderAtomically(writing, async (folder) => {
        await fill("new")(folder);
        throw new Error("the GPU was lost");
      }),
      /^Error: the GPU was lost$/,
    );
    await assert.rejects(
      writeFolderAtomically(writing, async (folder) => {
        Deno.symlinkSync("/dev/full", join(folder, "a"));
        await fill("new")(folder);
      }),
      { name: "UserError", message: `${path}: the disk is full. Make room and go on.` },
    );
    assert.deepEqual(namesIn(parent), ["folder"]);
    await assert.rejects(
      writeFolderAtomically({ ...writing, bytes: 1e18 }, fill("new")),
      { name: "UserError", message: /folder: there is no room on the disk: 1000000000\.00 GB/ },
    );
    assert.equal(Deno.readTextFileSync(join(path, "a")), "old");
    assert.deepEqual(namesIn(parent), ["folder"]);
    await writeFolderAtomically(writing, fill("n", "ew"));
    assert.equal(Deno.readTextFileSync(join(path, "a")), "new");
    assert.deepEqual(namesIn(parent), ["folder"]);
  });
});

Deno.test("atomic folder: what a crash cut off between the renames is ended, and nothing is lost", async () => {
  await withFolder(async (parent) => {
    const path = join(parent, "folder");
    const at = (name: string, text: string) => {
      Deno.mkdirSync(join(parent, name), { recursive: true });
      Deno.writeTextFileSync(join(parent, name, "a"), text);
    };
    /** A write that fails while it fills the folder: what was there stays. */
    const kept = async () => {
      const writing = writeFolderAtomically(
        { path, next: "go on" },
        () => Promise.reject(new Error("cut off")),
      );
      await assert.rejects(writing, /cut off/);
      assert.deepEqual(namesIn(parent), ["folder"]);
      return Deno.readTextFileSync(join(path, "a"));
    };
    // The old one had gone, the new one not come: it was whole by then.
    at("folder.replaced.tmp", "old");
    at("folder.tmp", "new");
    assert.equal(await kept(), "new");
    // It had come, and the old one was still there.
    at("folder.replaced.tmp", "old");
    assert.equal(await kept(), "new");
    Deno.removeSync(path, { recursive: true });
    at("folder.replaced.tmp", "old");
    assert.equal(await kept(), "old");
    // It was being filled.
    at("folder.tmp", "half");
    assert.equal(await kept(), "old");
  });
});
