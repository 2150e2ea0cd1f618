import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { exists } from "../../../../src/platform/files/atomic_file.ts";
import { askRun } from "../../../../src/run/control/endpoint/ask_run.ts";
import {
  liveProcess,
  readControlFile,
  requireNotRunning,
} from "../../../../src/run/control/endpoint/control_file.ts";
import type { ControlRequest } from "../../../../src/run/control/endpoint/control_request.ts";
import { RunEndpoint } from "../../../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../../src/run/events/run_events.ts";
import { RunFolder } from "../../../../src/run/store/run_folder.ts";
import { UserError } from "../../../../src/base/user_error.ts";

const pool = { budgetBytes: 9000, reservedBytes: 700, peakBytes: 650 };
const never = new AbortController().signal;

/** An endpoint of a run in a folder that is removed in the end. */
async function withEndpoint(
  body: (opened: {
    readonly folder: RunFolder;
    readonly control: RunControl;
    readonly events: RunEvents;
    readonly endpoint: RunEndpoint;
    readonly ask: (request: ControlRequest) => ReturnType<typeof askRun>;
  }) => Promise<void>,
): Promise<void> {
  const parent = Deno.makeTempDirSync();
  try {
    const folder = RunFolder.create(join(parent, "run"), {});
    const [control, events] = [new RunControl(), new RunEvents()];
    using endpoint = new RunEndpoint(control, events);
    endpoint.open(folder, pool);
    const found = liveProcess(folder);
    assert.ok(found);
    await body({
      ...{ folder, control, events, endpoint },
      ask: (request) => askRun(found, request, never),
    });
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
}

/** Sends text as it is. @returns all that comes back until the connection ends or the text is answered */
async function say(socket: string, text: string): Promise<unknown> {
  using connection = await Deno.connect({ transport: "unix", path: socket });
  await connection.write(new TextEncoder().encode(text));
  const part = new Uint8Array(4096);
  const count = await connection.read(part);
  return JSON.parse(new TextDecoder().decode(part.subarray(0, count ?? 0)));
}

Deno.test("endpoint: requests reach the run's control, and the answer says how far it is", async () => {
  await withEndpoint(async ({ control, events, ask }) => {
    const status = { step: 0, total: null, phase: null };
    const memory = { planned: 9000, live: 700, peak: 650 };
    const asked = { isPauseRequested: false, isStopRequested: false, memory };
    assert.deepEqual(await ask({ request: "status" }), {
      ok: true,
      status: { ...status, ...asked },
    });
    events.emit({ type: "started", step: 2, total: 9, ranks: 1 });
    events.emit({ type: "phaseBegan", step: 3, phase: "rollout" });
    assert.deepEqual(await ask({ request: "pause" }), {
      ok: true,
      status: { step: 2, total: 9, phase: "rollout", ...asked, isPauseRequested: true },
    });
    assert.ok(control.isPaused);
    await ask({ request: "goOn" });
    assert.ok(!control.isPaused);
    await ask({ request: "checkpoint" });
    assert.ok(control.takeSave());
    const changes: object[] = [];
    const refused = new UserError("seed cannot change");
    using _door = control.open((settings) => {
      if ("seed" in settings) throw refused;
      changes.push(settings);
    });
    assert.ok((await ask({ request: "change", settings: { "rollout.temperature": 0.5 } }))?.ok);
    assert.deepEqual(changes, [{ "rollout.temperature": 0.5 }]);
    assert.deepEqual(await ask({ request: "change", settings: { seed: 2 } }), {
      ok: false,
      message: "seed cannot change",
    });
    assert.ok(!control.isStopRequested);
    await ask({ request: "stop" });
    assert.ok(control.isStopRequested);
  });
});

Deno.test("endpoint: what is no request is refused, and the next one is heard", async () => {
  await withEndpoint(async ({ folder, control, ask }) => {
    const socket = readControlFile(folder)?.socket ?? "";
    const refused = async (text: string, message: RegExp) => {
      const answer = await say(socket, text) as { ok: boolean; message: string };
      assert.equal(answer.ok, false);
      assert.match(answer.message, message);
    };
    await refused("pause\n", /is not JSON/);
    await refused("null\n", /no request/);
    await refused('{"request":"explode"}\n', /no request/);
    await refused('{"request":"pause","now":true}\n', /no request/);
    await refused('{"request":"change","settings":{"a":[1]}}\n', /no request/);
    await refused("x".repeat(70_000), /at most 65536 bytes/);
    assert.ok(!control.isPaused);
    // Who leaves in the middle of a line, or does not wait for the answer, is no trouble.
    const leaving = await Deno.connect({ transport: "unix", path: socket });
    await leaving.write(new TextEncoder().encode('{"request":"pause"}\n{"req'));
    leaving.close();
    assert.ok((await ask({ request: "status" }))?.ok);
    assert.ok(control.isPaused, "it was asked for nevertheless");
  });
});

Deno.test("endpoint: its file and socket are this user's alone, and gone in the end", async () => {
  await withEndpoint(async ({ folder, endpoint, ask }) => {
    const { socket, process } = readControlFile(folder) ?? assert.fail("no control.json");
    assert.ok(socket !== null);
    assert.equal(process.pid, Deno.pid);
    assert.equal((Deno.statSync(folder.control).mode ?? 0) & 0o777, 0o600);
    assert.equal((Deno.statSync(dirname(socket)).mode ?? 0) & 0o777, 0o700);
    assert.ok(new TextEncoder().encode(socket).length < 108);
    endpoint[Symbol.dispose]();
    assert.ok(!exists(folder.control) && !exists(dirname(socket)));
    assert.equal(await ask({ request: "status" }), null);
    requireNotRunning(folder);
  });
});

Deno.test("endpoint: a second process is kept out as long as the first one lives", async () => {
  await withEndpoint(({ folder, endpoint }) => {
    assert.throws(() => requireNotRunning(folder), {
      name: "UserError",
      message: new RegExp(`is being run by process ${Deno.pid}\\. .*kill -INT ${Deno.pid}$`),
    });
    using second = new RunEndpoint(new RunControl(), new RunEvents());
    assert.throws(() => second.open(folder, pool), { name: "UserError" });
    // One that was killed has left its file and its socket; its number is another's by now.
    const dead = readControlFile(folder) ?? assert.fail("no control.json");
    const { socket } = dead;
    assert.ok(socket !== null);
    endpoint[Symbol.dispose]();
    Deno.mkdirSync(dirname(socket));
    Deno.writeTextFileSync(socket, "");
    const process = { ...dead.process, started: "1" };
    Deno.writeTextFileSync(folder.control, JSON.stringify({ ...dead, process }));
    assert.equal(liveProcess(folder), null);
    second.open(folder, pool);
    assert.ok(!exists(dirname(socket)));
    assert.notEqual(readControlFile(folder)?.socket, socket);
    return Promise.resolve();
  });
});

Deno.test("endpoint: whoever waits no longer gets no answer", async () => {
  const folder = Deno.makeTempDirSync();
  const socket = join(folder, "deaf");
  using _deaf = Deno.listen({ transport: "unix", path: socket });
  const waiting = new AbortController();
  const asked = askRun(
    { process: { pid: 0, started: "", place: "" }, socket },
    { request: "status" },
    waiting.signal,
  );
  setTimeout(() => waiting.abort(), 10);
  assert.equal(await asked, null);
  Deno.removeSync(folder, { recursive: true });
});
