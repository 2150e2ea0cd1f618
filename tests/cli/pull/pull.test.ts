/** `pull` as a user runs it. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { COMMIT, FakeHub } from "../../hub/fake_hub.ts";
import { modelFiles, namesIn, someBytes, withFolder } from "../../hub/pull_from.ts";

/** Begins the command in an empty folder of its own. */
function begin(hub: FakeHub, folder: string, args: readonly string[]): Deno.ChildProcess {
  Deno.mkdirSync(folder, { recursive: true });
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", join(PROJECT_FOLDER, "src/cli/main.ts"), "pull", ...args],
    cwd: folder,
    env: { HF_ENDPOINT: hub.endpoint, HF_TOKEN: "", HF_HOME: folder },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function run(hub: FakeHub, folder: string, ...args: string[]) {
  const { code, stdout, stderr } = await begin(hub, folder, args).output();
  const decoder = new TextDecoder();
  return { code, printed: decoder.decode(stdout), complaints: decoder.decode(stderr) };
}

Deno.test("pull: a model goes to models/NAME; the next command is told", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", modelFiles());
    const first = await run(hub, folder, "owner/small");
    assert.equal(first.code, 0, first.complaints);
    assert.equal(
      first.printed,
      `owner/small, commit ${COMMIT}: 5 files, 0.2 MB\n` +
        `Fetched 5 files, 0.2 MB → models/small\n` +
        `Next: ./tango chat --model models/small\n`,
    );
    const second = await run(hub, folder, "owner/small");
    assert.match(second.printed, /5 of them here already\nNothing to fetch: .* are complete\./);
    await using another = new FakeHub("other/small", modelFiles());
    const { printed } = await run(another, folder, "other/small");
    assert.match(printed, /→ models\/other\/small\nNext: .* --model models\/other\/small\n$/);
  });
});

Deno.test("pull: a data set goes to data/NAME, with --file and --to where they say", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/rows", { "a.csv": "x\n", "b.csv": "y\n" }, "dataset");
    const one = await run(hub, folder, "owner/rows", "--dataset", "--file", "a.*");
    assert.match(one.printed, /Fetched 1 file, 1 kB → data\/rows\n$/);
    await run(hub, folder, "owner/rows", "--dataset", "--file", "a*", "--file", "b*", "--to", "x");
    assert.deepEqual(namesIn(folder).filter((name) => !name.includes(".pulled")), [
      "data/rows/a.csv",
      "x/a.csv",
      "x/b.csv",
    ]);
  });
});

Deno.test("pull: a GGUF file can be talked to; the name is quoted where a shell needs it", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/gguf", { "a;b.gguf": "GGUF" });
    const { printed } = await run(hub, folder, "owner/gguf", "--file", "*.gguf");
    assert.match(printed, /Next: \.\/tango chat --model 'models\/gguf\/a;b\.gguf'\n$/);
  });
});

Deno.test("pull: mistakes exit 2 with one message", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/small", {});
    for (
      const [args, message] of [
        [["../etc"], /"\.\.\/etc" is not the name of a repository; expected owner\/name/],
        [["owner/none"], /There is no model owner\/none/],
        [[], /missing required argument 'repository'/],
      ] as const
    ) {
      const { code, printed, complaints } = await run(hub, folder, ...args);
      assert.equal(code, 2);
      assert.match(complaints, message);
      assert.doesNotMatch(complaints, /\n +at /);
      assert.equal(printed, "");
    }
    assert.deepEqual(namesIn(folder), []);
  });
});

Deno.test("pull: Ctrl-C exits 130 and keeps what has arrived; the next call goes on", async () => {
  await withFolder(async (folder) => {
    await using hub = new FakeHub("owner/gguf", { "a.gguf": someBytes(200_000) });
    let child: Deno.ChildProcess | null = null;
    hub.misbehave = (request, bytes) => {
      if (request.headers.has("range")) return null;
      const stream = new ReadableStream({
        start(controller) { // half of it, and then silence
          controller.enqueue(bytes.slice(0, 100_000));
        },
      });
      return new Response(stream);
    };
    const part = join(folder, "models/gguf/a.gguf.part");
    child = begin(hub, folder, ["owner/gguf", "--file", "a.gguf"]);
    const output = child.output();
    while (sizeOf(part) < 100_000) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGINT");
    const { code, stdout } = await output;
    assert.equal(code, 130);
    assert.match(new TextDecoder().decode(stdout), /Stopped\. The same command goes on/);
    assert.equal(sizeOf(part), 100_000);
    const { code: later } = await run(hub, folder, "owner/gguf", "--file", "a.gguf");
    assert.equal(later, 0);
    assert.equal(hub.seen.at(-1)?.range, "bytes=100000-");
    assert.deepEqual(Deno.readFileSync(join(folder, "models/gguf/a.gguf")), someBytes(200_000));
  });
});

function sizeOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch {
    return 0;
  }
}
