import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { identify, isAlive } from "../../src/platform/process/process_identity.ts";
import {
  benchmarkResultsSchema,
  compareResults,
} from "../../src/server/benchmarks/benchmark_results.ts";
import { serve } from "../../src/server/serve.ts";
import { breath, withFolder } from "./written_run.ts";

const commandLine = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

const result = (name: string, milliseconds: number, spread: number | null = 0.01) => ({
  ...{ name, shape: "tiny", unit: "gflops", milliseconds, spread },
  ...{ rate: 1 / milliseconds, share: 0.5, error: 0.25 },
});

const resultsOf = (adapter: string, results: object[]) => ({
  ...{ engine: "native", adapter, software: true },
  rates: { gflops: 3, gbps: 2, driverCopyGbps: 1 },
  results,
});

/** Asks a server whose benchmarks are made by `program`. */
async function withServer(
  root: string,
  program: string,
  body: (
    ask: (path: string, posted?: object) => Promise<{ status: number; answer: Answer }>,
    /** @returns the status */
    remove: (name: string) => Promise<number>,
    url: string,
  ) => Promise<void>,
): Promise<void> {
  const options = { hostname: "127.0.0.1", port: 0, token: null, folders: [], root };
  await using server = serve({ ...options, program });
  const url = `${server.url}/api/bench`;
  const ask = async (path: string, posted?: object) => {
    await breath();
    const response = await fetch(`${url}${path}`, {
      ...(posted && {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(posted),
      }),
    });
    const isProblem = response.headers.get("content-type") === "application/problem+json";
    assert.equal(isProblem, response.status >= 400);
    return { status: response.status, answer: await response.json() };
  };
  const remove = async (name: string) => {
    const response = await fetch(`${url}/${name}`, { method: "DELETE" });
    await response.body?.cancel();
    return response.status;
  };
  await body(ask, remove, url);
}

// deno-lint-ignore no-explicit-any
type Answer = any;

/**
 * Stands for the command line: writes what lies in the file `next` to the file after --json once there is one, or
 * fails when asked to.
 */
const fakeProgram = (next: string) => `
  if (Deno.args.includes("--filter=bad")) {
    console.error("no such kernel");
    Deno.exit(2);
  }
  for (;;) {
    try {
      const { args, results } = JSON.parse(Deno.readTextFileSync(${JSON.stringify(next)}));
      const [command, ...options] = Deno.args;
      const file = options[options.indexOf("--json") + 1];
      if (JSON.stringify([command, ...options.filter((o) => o !== file)]) !== JSON.stringify(args)) {
        throw new Error("asked " + Deno.args);
      }
      Deno.writeTextFileSync(file, JSON.stringify(results));
      break;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
`;

Deno.test("bench: one at a time, outlives its server, and is read and compared by name", async () => {
  await withFolder(async (folder) => {
    const root = join(folder, "runs");
    const next = join(folder, "next.json");
    const program = join(folder, "program.ts");
    Deno.writeTextFileSync(program, fakeProgram(next));
    /** Lets the program that goes on, or the next one, end with these. */
    const give = (results: object, more: string[]) => {
      const args = ["bench", "--seconds", "0.01", "--gpu", "native", "--json", ...more];
      Deno.writeTextFileSync(`${next}.tmp`, JSON.stringify({ args, results }));
      Deno.renameSync(`${next}.tmp`, next);
    };
    const asked = { seconds: 0.01, gpu: "native" };
    const first = resultsOf("one", [result("a", 4), result("b", 1), result("old", 1)]);

    await withServer(root, program, async (ask) => {
      const { status, answer } = await ask("", { ...asked, filter: "-a" });
      assert.deepEqual([status, answer.name, answer.state], [202, "bench-001", "running"]);
      assert.ok(Math.abs(Date.parse(answer.startedAt) - Date.now()) < 600_000);
      const again = await ask("", asked);
      assert.equal(again.status, 409);
      assert.match(again.answer.detail, /bench-001/);
      const early = await ask("/lavapipe-native/comparison?earlier=bench-001");
      assert.deepEqual([early.status, early.answer.field], [409, "earlier"]);
    });
    await withServer(root, program, async (ask) => {
      assert.equal((await ask("/bench-001")).answer.state, "running");
      assert.equal((await ask("", asked)).status, 409);
      give(first, ["--filter=-a"]);
      while ((await ask("/bench-001")).answer.state === "running");
      const { answer } = await ask("/bench-001");
      assert.deepEqual([answer.state, answer.error, answer.results], ["done", null, first]);

      // Without a filter, on another device.
      give(resultsOf("two", [result("b", 2), result("a", 1), result("new", 1)]), []);
      assert.equal((await ask("", asked)).answer.name, "bench-002");
      while ((await ask("/bench-002")).answer.state === "running");
      assert.deepEqual((await ask("/bench-002/comparison?earlier=bench-001")).answer, {
        name: "bench-002",
        earlier: "bench-001",
        isSameDevice: false,
        results: [
          {
            ...{ name: "b", shape: "tiny", milliseconds: 2, earlierMilliseconds: 1 },
            ...{ speed: 0.5, noise: 0.05, change: "slower" },
          },
          {
            ...{ name: "a", shape: "tiny", milliseconds: 1, earlierMilliseconds: 4 },
            ...{ speed: 4, noise: 0.05, change: "faster" },
          },
        ],
        unmatched: ["new/tiny", "old/tiny"],
      });

      await ask("", { ...asked, filter: "bad" });
      while ((await ask("/bench-003")).answer.state === "running");
      const { answer: failed } = await ask("/bench-003");
      assert.deepEqual([failed.state, failed.error], ["failed", "no such kernel"]);
      const { answer: { benchmarks } } = await ask("");
      assert.deepEqual(
        benchmarks.map(({ name, state }: Answer) => [name, state]),
        [
          ...[["lavapipe-dawn", "done"], ["lavapipe-native", "done"]],
          ...[["bench-001", "done"], ["bench-002", "done"], ["bench-003", "failed"]],
        ],
      );
    });
  });
});

Deno.test("bench: a speed counts as another one beyond both results' noise", () => {
  const changes = (now: number, before: number, spread: number | null) => {
    const parsed = (milliseconds: number) =>
      benchmarkResultsSchema.parse(resultsOf("one", [result("a", milliseconds, spread)]));
    const [{ noise, change }] = compareResults(parsed(now), parsed(before)).results;
    return [noise, change];
  };
  assert.deepEqual(changes(100, 104, 0.01), [0.05, "same"]);
  assert.deepEqual(changes(100, 106, 0.01), [0.05, "faster"]);
  assert.deepEqual(changes(106, 100, 0.01), [0.05, "slower"]);
  assert.deepEqual(changes(100, 129, 0.15), [0.3, "same"]);
  assert.deepEqual(changes(129, 100, 0.15), [0.3, "same"]);
  assert.deepEqual(changes(131, 100, 0.15), [0.3, "slower"]);
  assert.deepEqual(changes(100, 109, null), [0.1, "same"]);
  assert.deepEqual(changes(111, 100, null), [0.1, "slower"]);
});

Deno.test("bench: one that goes on is ended with all it started, and removed", async () => {
  await withFolder(async (folder) => {
    const root = join(folder, "runs");
    const pids = join(folder, "pids");
    const program = join(folder, "program.ts");
    // As the command line does, it leaves the work to another process.
    Deno.writeTextFileSync(
      program,
      `const child = new Deno.Command("sleep", { args: ["infinity"] }).spawn();
       Deno.writeTextFileSync(${JSON.stringify(`${pids}.tmp`)}, [Deno.pid, child.pid].join(" "));
       Deno.renameSync(${JSON.stringify(`${pids}.tmp`)}, ${JSON.stringify(pids)});
       await child.status;`,
    );
    await withServer(root, program, async (ask, remove) => {
      await ask("", {});
      while (!exists(pids)) await breath();
      const processes = Deno.readTextFileSync(pids).split(" ").map((pid) => identify(Number(pid)));
      assert.ok(processes.every(isAlive));
      assert.equal(await remove("bench-001"), 204);
      while (processes.some(isAlive)) await breath();
      assert.equal(await remove("bench-001"), 404);
      assert.equal(await remove("lavapipe-native"), 409);
      assert.equal((await ask("")).answer.benchmarks.length, 2);
    });
  });
});

Deno.test("bench: what cannot be asked is refused", async () => {
  await withFolder(async (root) => {
    await withServer(root, "none", async (ask, _remove, url) => {
      const bare = await fetch(url, { method: "POST" });
      assert.equal(bare.status, 415);
      await bare.body?.cancel();
      for (const posted of [{ seconds: 0 }, { filter: "a\0b" }, { gpu: "-x" }, { gpus: 1 }]) {
        assert.equal((await ask("", posted)).status, 422, JSON.stringify(posted));
      }
      assert.equal((await ask("", { seconds: "1" })).answer.field, "seconds");
      for (const name of ["none", "..%2Fbench", "lavapipe-native.json"]) {
        assert.equal((await ask(`/${name}`)).status, 404, name);
      }
      assert.equal((await ask("/lavapipe-native/comparison")).answer.field, "earlier");
      const missing = await ask("/lavapipe-native/comparison?earlier=none");
      assert.equal(missing.status, 404);
      assert.deepEqual((await ask("")).answer.benchmarks.length, 2);
    });
  });
});

Deno.test("bench: the command line's own results are read, beside those that came with it", async () => {
  await withFolder(async (root) => {
    await withServer(root, commandLine, async (ask) => {
      await ask("", { filter: "gemm_nt/tiny", seconds: 0.001 });
      while ((await ask("/bench-001")).answer.state === "running");
      const { answer } = await ask("/bench-001");
      assert.equal(answer.state, "done", answer.error);
      const { answer: { results } } = await ask("/bench-001/comparison?earlier=lavapipe-native");
      assert.deepEqual(
        results.map(({ name, shape }: Answer) => [name, shape]),
        [["gemm_nt", "tiny"]],
      );
      assert.equal(
        results[0].speed,
        results[0].earlierMilliseconds / answer.results.results[0].milliseconds,
      );
    });
  });
});
