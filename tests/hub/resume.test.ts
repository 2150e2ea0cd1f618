import assert from "node:assert/strict";
import { FakeHub, type Misbehaviour, serve } from "./fake_hub.ts";
import { namesIn, pullFrom, someBytes, withFolder } from "./pull_from.ts";

const content = someBytes(300_000);
const half = 150_000;

function hubWithOneFile(): FakeHub {
  return new FakeHub("owner/file", { "a.gguf": content });
}

/** Ends each answer to one of the first `times` requests after half of the file. */
function endEarly(times: number): Misbehaviour {
  return (request, bytes) => {
    if (times-- <= 0) return null;
    const whole = serve(request, new Uint8Array(bytes), true);
    const { headers } = whole;
    void whole.body?.cancel();
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.slice(0, half));
        controller.close();
      },
    });
    return new Response(stream, { headers }); // without a length, so that it looks complete
  };
}

/** Breaks the connection of the first request in the middle of the file. */
function breakOff(): Misbehaviour {
  let isFirst = true;
  return (_request, bytes) => {
    if (!isFirst) return null;
    isFirst = false;
    let pieces = 0;
    const stream = new ReadableStream({
      pull(controller) {
        if (pieces++ === 0) controller.enqueue(bytes.slice(0, half));
        else controller.error(new Error("cut"));
      },
    });
    return new Response(stream, { headers: { "content-length": String(bytes.length) } });
  };
}

async function pullOne(hub: FakeHub, folder: string, pauses: number[] = []): Promise<void> {
  await pullFrom(hub, { folder, patterns: ["a.gguf"], pauses });
}

function assertComplete(folder: string): void {
  assert.deepEqual(Deno.readFileSync(`${folder}/a.gguf`), content);
  assert.deepEqual(namesIn(folder), [".pulled.json", "a.gguf"]);
}

Deno.test("download: goes on where an answer ended early", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    hub.misbehave = endEarly(1);
    const pauses: number[] = [];
    await pullOne(hub, folder, pauses);
    assertComplete(folder);
    assert.deepEqual(pauses, [1]);
    const [first, second] = hub.seen.slice(1);
    assert.equal(first.range, null);
    assert.equal(second.range, `bytes=${half}-`);
    assert.match(second.ifRange ?? "", /^"[0-9a-f]{64}"$/);
  });
});

Deno.test("download: goes on after a broken connection", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    hub.misbehave = breakOff();
    await pullOne(hub, folder);
    assertComplete(folder);
    assert.equal(hub.asked.length, 2);
  });
});

Deno.test("download: begins anew when the server knows no ranges", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    hub.hasRanges = false;
    hub.misbehave = endEarly(1);
    await pullOne(hub, folder);
    assertComplete(folder);
    assert.equal(hub.seen.at(-1)?.range, `bytes=${half}-`);
  });
});

Deno.test("download: a server that always stops at the same place is given up", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    hub.misbehave = endEarly(Infinity);
    const pauses: number[] = [];
    await assert.rejects(
      pullOne(hub, folder, pauses),
      /a\.gguf of owner\/file: the connection ended early, 6 times in a row/,
    );
    assert.deepEqual(pauses, [1, 2, 4, 8, 16]);
    assert.ok(namesIn(folder).includes("a.gguf.part"));
  });
});

/** Stops a call as Ctrl-C does when half of the file has arrived. */
async function stopHalfway(hub: FakeHub, folder: string): Promise<void> {
  const controller = new AbortController();
  hub.misbehave = endEarly(1);
  await assert.rejects(
    pullFrom(hub, {
      folder,
      patterns: ["a.gguf"],
      signal: controller.signal,
      onProgress: (_path, arrived) => {
        if (arrived === half) controller.abort(new Error("stopped"));
      },
    }),
    /stopped/,
  );
  assert.deepEqual(namesIn(folder), [".pulled.json", "a.gguf.part"]);
  assert.equal(Deno.statSync(`${folder}/a.gguf.part`).size, half);
  hub.seen.length = 0;
}

Deno.test("download: a later call goes on where a stopped one was", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    await stopHalfway(hub, folder);
    await pullOne(hub, folder);
    assertComplete(folder);
    assert.deepEqual(hub.seen.slice(1).map(({ range }) => range), [`bytes=${half}-`]);
  });
});

Deno.test("download: begins anew when the file has become another one", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    await stopHalfway(hub, folder);
    const changed = content.map((byte) => byte ^ 1);
    hub.put("a.gguf", changed);
    await pullOne(hub, folder);
    assert.deepEqual(Deno.readFileSync(`${folder}/a.gguf`), changed);
    assert.deepEqual(hub.seen.slice(1).map(({ range }) => range), [null]);
  });
});

Deno.test("download: begins anew when the server says that its file is another one", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    await stopHalfway(hub, folder);
    const manifest = `${folder}/.pulled.json`;
    const text = Deno.readTextFileSync(manifest);
    Deno.writeTextFileSync(manifest, text.replace(/"etag": .*/, `"etag": "\\"other\\""`));
    await pullOne(hub, folder);
    assertComplete(folder);
    assert.equal(hub.seen.at(-1)?.ifRange, `"other"`);
  });
});

Deno.test("download: a part of unknown origin is not built upon", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    Deno.mkdirSync(folder);
    Deno.writeTextFileSync(`${folder}/a.gguf.part`, "something else");
    await pullOne(hub, folder);
    assertComplete(folder);
  });
});

Deno.test("download: a part that was spoilt on the disk is found out and removed", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    await stopHalfway(hub, folder);
    Deno.writeFileSync(`${folder}/a.gguf.part`, new Uint8Array(half));
    await assert.rejects(pullOne(hub, folder), /arrived with sha256 .* removed; run the command/);
    assert.deepEqual(namesIn(folder), [".pulled.json"]);
    await pullOne(hub, folder);
    assertComplete(folder);
  });
});

Deno.test("download: a wrong range is not taken for the right one", async () => {
  await withFolder(async (folder) => {
    await using hub = hubWithOneFile();
    await stopHalfway(hub, folder);
    let isFirst = true;
    hub.misbehave = (_request, bytes) => {
      if (!isFirst) return null;
      isFirst = false;
      return new Response(bytes.slice(10), {
        status: 206,
        headers: { "content-range": `bytes 10-${bytes.length - 1}/${bytes.length}` },
      });
    };
    await pullOne(hub, folder);
    assertComplete(folder);
  });
});

Deno.test("download: an empty file needs no request", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/file", { "empty.txt": "" });
    await pullFrom(hub, { folder, patterns: ["*"] });
    assert.equal(Deno.readTextFileSync(`${folder}/empty.txt`), "");
    assert.deepEqual(hub.asked, []);
  });
});
