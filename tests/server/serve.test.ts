import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { RunEndpoint } from "../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../src/run/control/run_control.ts";
import { RunEvents } from "../../src/run/events/run_events.ts";
import { serve, type ServerOptions } from "../../src/server/serve.ts";
import { breath, withFolder, WrittenRun } from "./written_run.ts";

const plain = {
  hostname: "127.0.0.1",
  port: 0,
  token: null,
  folders: [],

  program: "none",
};

/** Whatever JSON came back. */
// deno-lint-ignore no-explicit-any
type Answer = any;

interface Served {
  readonly root: string;
  readonly run: WrittenRun;
  readonly ask: (path: string, options?: RequestInit) => Promise<Response>;
  readonly read: (path: string) => Promise<Answer>;
}

/** A server with one run of two steps. */
async function withServer(
  body: (served: Served) => Promise<void>,
  options: Partial<ServerOptions> = {},
) {
  await withFolder(async (root) => {
    const run = new WrittenRun(root, "one", { rollout: { temperature: 1 } });
    run.event({ type: "started", step: 0, total: 5, ranks: 1 });
    run.step(1, "generator", { a: 5 });
    run.event({ type: "step", step: 1, phase: "generator" });
    run.sample({});
    await using server = serve({ ...plain, root, ...options });
    const ask = async (path: string, options?: RequestInit) => {
      await breath();
      return await fetch(server.url + path, options);
    };
    const read = async (path: string) => await (await ask(path)).json();
    if (options.token == null) { while ((await read("/api/runs")).runs.length === 0); }
    await body({ root, run, ask, read });
  });
}

/** A problem with a status, and nothing else. */
async function assertProblem(response: Response, status: number, field?: string): Promise<void> {
  assert.equal(response.status, status);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  const problem = await response.json();
  assert.equal(problem.status, status);
  assert.equal(problem.field, field);
}

Deno.test("serve: runs of the command line show up and are followed", async () => {
  await withServer(async ({ root, run, read, ask }) => {
    const { runs: [one] } = await read("/api/runs");
    assert.deepEqual([one.id, one.kind, one.step, one.totalSteps], ["one", "train", 1, 5]);
    // Nobody runs it, and it has said no last word.
    assert.equal(one.state, "lost");
    run.step(2, "verifier", { a: 6 });
    run.event({ type: "step", step: 2, phase: "verifier" });
    run.event({ type: "finished", step: 2, reachedEnd: false });
    while ((await read("/api/runs/one")).state !== "stopped");
    assert.deepEqual(await read("/api/runs/one/metrics?names=a"), {
      steps: [1, 2],
      phases: ["generator", "verifier"],
      series: { a: [5, 6] },
    });
    const csv = await (await ask("/api/runs/one/metrics?names=a&format=csv")).text();
    assert.equal(csv, "step,phase,a\r\n1,generator,5\r\n2,verifier,6\r\n");
    // A name is no formula to the program that opens the file.
    const names = ["=1+1", '@"x"', "-a", "a-b"].map(encodeURIComponent).join();
    const formulas = await ask(`/api/runs/one/metrics?names=${names}&format=csv`);
    assert.match(await formulas.text(), /^step,phase,'=1\+1,"'@""x""",'-a,a-b\r\n/);
    const rows = ["1,generator,5", "2,verifier,6"];
    for (let step = 3; step <= 5000; step++) {
      run.step(step, "generator", { a: step / 8 });
      rows.push(`${step},generator,${step / 8}`);
    }
    while ((await read("/api/runs/one/metrics?names=a&from=5000")).steps.length === 0);
    const long = await (await ask("/api/runs/one/metrics?names=a&format=csv")).text();
    assert.equal(long, ["step,phase,a", ...rows, ""].join("\r\n"));
    assert.equal((await read("/api/runs/one/samples")).total, 1);
    const { changeable } = await read("/api/runs/one/config");
    assert.deepEqual(changeable, { "rollout.temperature": 1 });
    const openapi = await read("/openapi.json");
    const { responses } = openapi.paths["/api/runs/{id}/metrics"].get;
    assert.ok(responses["404"] && responses["403"] && !responses["401"]);
    // What somebody's editor left.
    Deno.writeTextFileSync(run.folder.timeline, '{"step":1}\nnonsense\n');
    await assertProblem(await ask("/api/runs/one/timeline"), 422);
    Deno.writeTextFileSync(run.folder.configuration, "5");
    await assertProblem(await ask("/api/runs/one/config"), 422);
    Deno.removeSync(join(root, "one"), { recursive: true });
    while (
      (await ask("/api/runs/one").then((answer) => (answer.body?.cancel(), answer.status))) !== 404
    );
  });
});

Deno.test("serve: Prometheus reads states, and last values of what goes on", async () => {
  await withServer(async ({ ask, run }) => {
    // The test itself runs it.
    const control = new RunControl();
    const events = new RunEvents();
    using endpoint = new RunEndpoint(control, events);
    endpoint.open(run.folder, { budgetBytes: 9000, reservedBytes: 700, peakBytes: 650 });
    // Between what was told before and the present part.
    await new Promise((resolve) => setTimeout(resolve, 5));
    run.event({ type: "started", step: 1, total: 5, ranks: 1 });
    run.step(2, "generator", { "generator/reward": 0.25 });
    run.event({ type: "step", step: 2, phase: "generator" });
    const read = async () => await (await ask("/metrics")).text();
    let text = await read();
    while (!/^tango_step.* 2$/m.test(text)) text = await read();
    assert.match(text, /^tango_run_state\{run="one",kind="train",state="running"\} 1$/m);
    assert.match(text, /^tango_generator_reward\{run="one",kind="train"\} 0\.25$/m);
    assert.match(text, /^# TYPE tango_step gauge\ntango_step\{run="one",kind="train"\} 2$/m);
    assert.match(text, /^tango_last_step_timestamp_seconds\{.*\} \d{10}/m);
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    assert.equal(new Set(names).size, names.length);
    const memory = async () => (await (await ask("/api/runs/one")).json()).memory;
    let known = await memory();
    while (known === null) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      known = await memory();
    }
    assert.deepEqual(known, { planned: 9000, live: 700, peak: 650 });
  });
});

Deno.test("serve: events stream from the last one that was seen", async () => {
  await withServer(async ({ run, ask }) => {
    const response = await ask("/api/runs/one/events", { headers: { "last-event-id": "1" } });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (wanted: string) => {
      while (!text.includes(wanted)) text += (await reader.read()).value ?? assert.fail("it ended");
    };
    await readUntil('"type":"step"');
    assert.doesNotMatch(text, /started/);
    assert.match(text, /^id: 2\ndata: \{"number":2,/m);
    run.event({ type: "warning", step: 1, message: "slow" });
    await readUntil("slow");
    assert.match(text, /^id: 3$/m);
    await reader.cancel();
  });
});

Deno.test("serve: an index that is gone, or of a crash, is made anew", async () => {
  await withFolder(async (root) => {
    const run = new WrittenRun(root, "one");
    run.step(1, "generator", { a: 5 });
    for (const isRemoved of [false, true]) {
      if (isRemoved) Deno.removeSync(join(root, ".tango"), { recursive: true });
      await using server = serve({ ...plain, root });
      const rows = async () =>
        (await (await fetch(`${server.url}/api/runs/one/metrics?names=a`)).json()).series?.a;
      let found = await rows();
      while (found === undefined) {
        await breath();
        found = await rows();
      }
      assert.deepEqual(found, [5]);
    }
  });
});

Deno.test("serve: what was asked for outlives the index", async () => {
  await withFolder(async (root) => {
    const asked = async (url: string) => {
      const response = await fetch(`${url}/api/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", "idempotency-key": "once" },
        body: JSON.stringify({ kind: "sft" }),
      });
      const { id } = await response.json();
      return [response.status, id];
    };
    const names: unknown[] = [];
    for (let round = 0; round < 2; round++) {
      // The program is none that could be started, so nothing outlives the test.
      await using server = serve({ ...plain, root, folders: [PROJECT_FOLDER] });
      names.push(await asked(server.url));
      const { runs } = await (await fetch(`${server.url}/api/runs`)).json();
      assert.equal(runs.length, 1);
      for (const { name } of Deno.readDirSync(join(root, ".tango"))) {
        if (name.startsWith("index.")) Deno.removeSync(join(root, ".tango", name));
      }
    }
    assert.deepEqual(names[1], names[0]);
    assert.equal((names[0] as unknown[])[0], 202);
  });
});

Deno.test("serve: a run says on how many ranks it is, also when it is gone on with on others", async () => {
  await withServer(async ({ run, read }) => {
    const ranks = async () => (await read("/api/runs/one")).ranks;
    run.event({ type: "started", step: 1, total: 5, ranks: 4 });
    while (await ranks() !== 4);
    run.event({ type: "started", step: 1, total: 5, ranks: 2 });
    while (await ranks() !== 2);
  });
});

Deno.test("serve: of a run that told nothing, its metrics and configuration say how far it is", async () => {
  await withServer(async ({ root, read }) => {
    const before = new WrittenRun(root, "before", { schedule: { total_training_steps: 3 } });
    before.step(1, "generator", {});
    before.step(2, "verifier", {});
    let view = await read("/api/runs/before");
    while (view.step !== 2) view = await read("/api/runs/before");
    assert.deepEqual([view.state, view.totalSteps, view.ranks], ["stopped", 3, 1]);
    before.step(3, "generator", {});
    while (view.step !== 3) view = await read("/api/runs/before");
    assert.equal(view.state, "finished");
  });
});

Deno.test("serve: other sites and other names are refused", async () => {
  await withServer(async ({ ask }) => {
    for (
      const origin of ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"]
    ) {
      await assertProblem(await ask("/api/runs", { headers: { origin } }), 403);
    }
    const headers = { "sec-fetch-site": "cross-site" };
    await assertProblem(await ask("/api/runs", { headers }), 403);
  });
  // fetch sets Host itself.
  await withFolder(async (root) => {
    await using server = serve({ ...plain, root });
    const { port } = new URL(server.url);
    for (const host of ["evil.example", `evil.example:${port}`, "127.0.0.1.evil.example", ""]) {
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
      const request = `GET /api/runs HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      await connection.write(new TextEncoder().encode(request));
      const answer = await new Response(connection.readable).text().catch(() => "");
      assert.match(answer, /^HTTP\/1\.1 (403|400)/, host);
    }
  });
});

Deno.test("serve: bound elsewhere it asks for a token, and does not start without", async () => {
  const root = "nowhere";
  assert.throws(() => serve({ ...plain, hostname: "0.0.0.0", root }), {
    name: "UserError",
    message: /TANGO_TOKEN/,
  });
  await withServer(async ({ ask }) => {
    await assertProblem(await ask("/api/runs"), 401);
    await assertProblem(await ask("/openapi.json"), 401);
    await assertProblem(
      await ask("/api/runs", { headers: { authorization: "Bearer wrong" } }),
      401,
    );
    await assertProblem(await ask("/api/runs", { headers: { cookie: "tango_token=wrong" } }), 401);
    await assertProblem(await ask("/api/runs?token=secret"), 401);
    const bearer = await ask("/api/runs", { headers: { authorization: "Bearer secret" } });
    assert.equal(bearer.status, 200);
    await bearer.body?.cancel();
    const signedIn = await ask("/?token=secret", { redirect: "manual" });
    assert.equal(signedIn.status, 303);
    const cookie = signedIn.headers.get("set-cookie") ?? "";
    assert.match(cookie, /HttpOnly; SameSite=Strict/);
    const headers = { cookie: cookie.split(";")[0] };
    const known = await ask("/api/runs", { headers });
    assert.equal(known.status, 200);
    await known.body?.cancel();
  }, { hostname: "0.0.0.0", token: "secret" });
});

Deno.test("serve: what is asked wrongly is a problem that names the field", async () => {
  await withServer(async ({ ask }) => {
    await assertProblem(await ask("/api/runs/two"), 404);
    await assertProblem(await ask("/api/runs/..%2fone"), 404);
    await assertProblem(await ask("/api/runs/one/metrics?points=0"), 422, "points");
    await assertProblem(await ask("/api/runs/one/samples?filter=best"), 422, "filter");
    const headers = { "last-event-id": "x" };
    await assertProblem(await ask("/api/runs/one/events", { headers }), 422, "last-event-id");
    await assertProblem(await ask("/api/runs/one/checkpoints/1/files/state.json"), 404);
    await assertProblem(await ask("/no/where"), 404);
    const unheard = await ask("/api/runs/one/metrics", { method: "DELETE" });
    assert.equal(unheard.headers.get("allow"), "GET");
    await assertProblem(unheard, 405);
    const text = { method: "POST", body: "{}", headers: { "content-type": "text/plain" } };
    await assertProblem(await ask("/api/runs", text), 415);
    const broken = { method: "POST", body: "{", headers: { "content-type": "application/json" } };
    await assertProblem(await ask("/api/runs", broken), 400);
    await assertProblem(await ask("/api/runs", { ...broken, body: "1".repeat(1 << 21) }), 413);
  });
});

Deno.test("serve: the page's files, and no others", async () => {
  await withServer(async ({ ask }) => {
    const page = await ask("/");
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    const html = await page.text();
    const used = [...html.matchAll(/(?:src|href)="(\/page\/[^"]+)"/g)].map(([, path]) => path);
    assert.ok(used.length > 0);
    for (const path of used) {
      const file = await ask(path);
      assert.equal(file.status, 200, path);
      await file.body?.cancel();
      const tag = { "if-none-match": file.headers.get("etag") ?? "" };
      assert.equal((await ask(path, { headers: tag })).status, 304);
    }
    for (
      const path of [
        "/page/../page_files.ts",
        "/page/..%2fapp.ts",
        "/page/deno.json",
        "/page/none.js",
      ]
    ) {
      await assertProblem(await ask(path), 404);
    }
  });
});

Deno.test("serve: what cannot be a folder of runs is told as the user's mistake", async () => {
  await withFolder((folder) => {
    const file = join(folder, "file");
    Deno.writeTextFileSync(file, "");
    const link = join(folder, "link");
    Deno.symlinkSync(join(folder, "none"), link);
    for (const root of [file, link]) {
      const message = new RegExp(`${root} cannot be the folder of the runs: .*--runs`);
      assert.throws(() => serve({ ...plain, root }), { name: "UserError", message });
    }
  });
});
