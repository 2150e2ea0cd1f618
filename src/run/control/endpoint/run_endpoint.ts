import { basename, dirname, join } from "node:path";
import type { BufferPool } from "../../../gpu/buffer_pool.ts";
import { exists, removeIfPresent } from "../../../platform/files/atomic_file.ts";
import { UserError } from "../../../base/user_error.ts";
import type { RunEvent } from "../../events/run_event.ts";
import type { RunEvents } from "../../events/run_events.ts";
import type { RunFolder } from "../../store/run_folder.ts";
import type { RunControl } from "../run_control.ts";
import {
  LONGEST_SOCKET,
  readControlFile,
  requireNotRunning,
  writeControlFile,
} from "./control_file.ts";
import {
  type ControlAnswer,
  type ControlRequest,
  controlRequestSchema,
  type RunStatus,
} from "./control_request.ts";
import { close, LONGEST_REQUEST, receivedLines, sendLine } from "./lines.ts";

const PREFIX = "tango-run-";

/** Counts of a GPU's memory that the endpoint tells. */
type WatchedPool = Pick<BufferPool, "budgetBytes" | "reservedBytes" | "peakBytes">;

/**
 * Where other processes of this user ask a run for something: a Unix socket in a folder of its own. Requests are
 * heard between two steps, whenever the run waits, and go to the run's control.
 */
export class RunEndpoint implements Disposable {
  #status = { step: 0, total: null, phase: null } as Pick<RunStatus, "step" | "total" | "phase">;
  #pool: WatchedPool = { budgetBytes: Infinity, reservedBytes: 0, peakBytes: 0 };
  readonly #following: Disposable;
  readonly #opened = new DisposableStack();
  readonly #connections = new Set<Deno.UnixConn>();

  constructor(private readonly control: RunControl, events: RunEvents) {
    this.#following = events.listen((event) => this.#follow(event));
  }

  /**
   * Listens, and says so in the run's folder, until this is disposed of.
   *
   * @param pool the memory that the run takes
   * @throws UserError when another process runs what is in the folder
   */
  open(folder: RunFolder, pool: WatchedPool): void {
    this.#pool = pool;
    requireNotRunning(folder);
    clearAfterDeath(folder);
    writeControlFile(folder, Deno.build.os === "windows" ? null : this.#openSocket());
    this.#opened.defer(() => removeIfPresent(folder.control));
  }

  #openSocket(): string {
    const place = makeFolder();
    this.#opened.defer(() => removeIfPresent(place));
    const socket = join(place, "control");
    const listener = Deno.listen({ transport: "unix", path: socket });
    this.#opened.defer(() => listener.close());
    listener.unref(); // the run decides when the process ends
    void this.#listen(listener);
    return socket;
  }

  [Symbol.dispose](): void {
    this.#following[Symbol.dispose]();
    this.#opened.dispose();
    for (const connection of this.#connections) close(connection);
  }

  #follow(event: RunEvent): void {
    switch (event.type) {
      case "started":
        this.#status = { step: event.step, total: event.total, phase: null };
        break;
      case "phaseBegan":
        this.#status = { ...this.#status, phase: event.phase };
        break;
      case "phaseEnded":
        this.#status = { ...this.#status, phase: null };
        break;
      case "step":
        this.#status = { ...this.#status, step: event.step };
        break;
    }
  }

  async #listen(listener: Deno.UnixListener): Promise<void> {
    for await (const connection of listener) {
      this.#connections.add(connection);
      void this.#converse(connection);
    }
  }

  async #converse(connection: Deno.UnixConn): Promise<void> {
    connection.unref();
    try {
      for await (const line of receivedLines(connection)) {
        await sendLine(connection, line === null ? tooLong : this.#answer(line));
      }
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    close(connection);
    this.#connections.delete(connection);
  }

  #answer(line: string): ControlAnswer {
    const request = parse(line);
    if (typeof request === "string") return { ok: false, message: request };
    try {
      this.#obey(request);
    } catch (error) {
      if (error instanceof UserError) return { ok: false, message: error.message };
      throw error;
    }
    const { isPaused: isPauseRequested, isStopRequested } = this.control;
    const { budgetBytes, reservedBytes: live, peakBytes: peak } = this.#pool;
    const memory = { planned: Number.isFinite(budgetBytes) ? budgetBytes : null, live, peak };
    return { ok: true, status: { ...this.#status, isPauseRequested, isStopRequested, memory } };
  }

  #obey(request: ControlRequest): void {
    switch (request.request) {
      case "pause":
        return this.control.pause();
      case "goOn":
        return this.control.goOn();
      case "checkpoint":
        return this.control.save();
      case "stop":
        return this.control.stop();
      case "change":
        return this.control.change(request.settings);
    }
  }
}

const tooLong: ControlAnswer = {
  ok: false,
  message: `A request is one line of at most ${LONGEST_REQUEST} bytes.`,
};

/** @returns what is wrong with it, in words, when it is no request */
function parse(line: string): ControlRequest | string {
  try {
    const { data, error } = controlRequestSchema.safeParse(JSON.parse(line));
    return data ?? `This is no request: ${error?.issues[0]?.message ?? "unknown"}`;
  } catch {
    return "This is no request: it is not JSON.";
  }
}

/** A folder for this user alone, short enough for a socket's path. */
function makeFolder(): string {
  const usual = Deno.makeTempDirSync({ prefix: PREFIX });
  if (usual.length <= LONGEST_SOCKET - 17) return usual;
  Deno.removeSync(usual);
  return Deno.makeTempDirSync({ dir: "/tmp", prefix: PREFIX });
}

/** Removes what a killed process has left behind. */
function clearAfterDeath(folder: RunFolder): void {
  const dead = readControlFile(folder);
  if (dead === null) return;
  if (dead.socket !== null) {
    const place = dirname(dead.socket);
    if (/^tango-run-\w+$/.test(basename(place)) && exists(dead.socket)) removeIfPresent(place);
  }
  removeIfPresent(folder.control);
}

/** Whether who asked has gone away, or the endpoint was closed meanwhile. */
function isGone(error: unknown): boolean {
  const { BrokenPipe, ConnectionReset, BadResource, Interrupted, NotConnected } = Deno.errors;
  return [BrokenPipe, ConnectionReset, BadResource, Interrupted, NotConnected]
    .some((kind) => error instanceof kind);
}
