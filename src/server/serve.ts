import { join } from "node:path";
import { exists } from "../platform/files/atomic_file.ts";
import { UserError } from "../base/user_error.ts";
import { within } from "../base/within.ts";
import { makeApp } from "./app.ts";
import { Benchmarks } from "./benchmarks/benchmarks.ts";
import { type Access, isLoopback } from "./http/guard.ts";
import { DataSets, isShippedData } from "./datasets/data_sets.ts";
import { KeptReadings } from "./datasets/kept_readings.ts";
import { Database } from "./index/database.ts";
import { RunIndex } from "./index/run_index.ts";
import { RUN_INDEX } from "./index/run_tables.ts";
import { isAllowed } from "./launches/allowed_paths.ts";
import { Launcher } from "./launches/launcher.ts";
import { LaunchStore } from "./launches/launch_store.ts";
import { PRESETS } from "./launches/presets.ts";
import { QUEUE } from "./launches/queue_tables.ts";
import { Jobs } from "./models/jobs.ts";
import { Pulls } from "./models/pulls.ts";
import { LiveMemory } from "./runs/live_memory.ts";
import { RunList } from "./runs/run_list.ts";
import { ServerLock } from "./server_lock.ts";
import { ServedModels } from "./serving/served_models.ts";
import type { TabFiles } from "./tab_routes.ts";
import { Checkpoints } from "./tinker/checkpoints.ts";
import { Futures } from "./tinker/futures.ts";
import { Sessions } from "./tinker/sessions.ts";

/** Where the server listens, and what it serves. */
export interface ServerOptions extends Access {
  /** 0: any that is free. */
  readonly port: number;
  /** The folder of the runs' folders. */
  readonly root: string;
  /** Folders that the configurations of new runs may lead into, besides those that the server writes. */
  readonly folders: readonly string[];
  /** Folders of reward modules that new runs may execute, besides that of the presets. */
  readonly codeFolders?: readonly string[];
  /** Where models are fetched to, `models` unless told. */
  readonly models?: string;
  /** Where uploaded data goes, `data` unless told. */
  readonly data?: string;
  /** Where what clients save of their adapters is kept, `checkpoints` unless told. */
  readonly checkpoints?: string;
  /** The main module of the command line, which runs are started with. */
  readonly program: string;
  /** The page that trains in the browser, for /browser/; not served unless told. */
  readonly tab?: TabFiles;
  /** Models that clients can ask, open; none unless told. They are ended with the server. */
  readonly served?: ServedModels;
}

/** A server that listens. */
export interface RunningServer extends AsyncDisposable {
  /** Its page. */
  readonly url: string;
}

/** Answers that are not through when the server ends have so long, in milliseconds. */
const LAST_ANSWERS_MS = 3000;

/** Of a server that was told of no model. */
const NOTHING_SERVED = { slots: 1, cacheTokens: 1, microBatchTokens: 1 };

/** What the server keeps lies in a folder of its own among the runs. */
const OWN_FOLDER = ".tango";

/**
 * Serves the runs of a folder.
 *
 * @throws UserError when it may not be reached that way, the address or the folder cannot be had, or another server
 *   serves the folder
 */
export function serve(
  options: ServerOptions,
): RunningServer {
  const { hostname, port, token, root, folders, codeFolders = [], program } = options;
  const { models = "models", checkpoints = "checkpoints", data = "data" } = options;
  if (!isLoopback(hostname) && token === null) {
    throw new UserError(
      `--host ${hostname} lets other machines ask this server, so it needs a token: set TANGO_TOKEN to a long ` +
        `secret, or leave --host out.`,
    );
  }
  if (isAllowed(root, [models])) {
    throw new UserError(
      `--runs ${root} lies in ${models}, where models are fetched to. Name a folder outside of it.`,
    );
  }
  const written = [root, checkpoints, models];
  const allowed = { files: [...written, ...folders], code: codeOf(codeFolders, written) };
  using stores = new DisposableStack();
  using workers = new DisposableStack();
  const own = join(root, OWN_FOLDER);
  makeFolder(own, root);
  const lock = stores.use(new ServerLock(join(own, "server.lock"), root));
  const queue = stores.use(new Database(join(own, "queue.sqlite"), QUEUE));
  const index = stores.use(new Database(join(own, "index.sqlite"), RUN_INDEX));
  const list = workers.use(new RunList(root, new RunIndex(index)));
  const memory = workers.use(new LiveMemory(list));
  const launcher = workers.use(
    new Launcher(list, new LaunchStore(queue), own, program, memory),
  );
  const futures = new Futures();
  const tinker = {
    futures,
    served: options.served ?? new ServedModels(NOTHING_SERVED),
    sessions: workers.use(new Sessions(join(own, "snapshots"), futures)),
    checkpoints: new Checkpoints(checkpoints),
  };
  const ending = new AbortController();
  workers.defer(() => ending.abort());
  const app = makeApp({
    launcher,
    memory,
    pulls: workers.use(new Pulls(models)),
    dataSets: new DataSets(data),
    readings: new KeptReadings(data),
    dataPulls: workers.use(new Pulls(data, "dataset", isShippedData)),
    models,
    evaluations: new Jobs(own, "eval", program),
    exports: new Jobs(own, "export", program),
    benchmarks: new Benchmarks(own, program),
    tinker,
    ending: ending.signal,
    tab: options.tab ?? null,
    folders: allowed,
  }, { hostname, token });
  const listening = listen(hostname, port, (request, peer) => app.fetch(request, { peer }));
  const [stored, working] = [stores.move(), workers.move()];
  const { addr } = listening;
  const name = addr.hostname.includes(":") ? `[${addr.hostname}]` : addr.hostname;
  const url = `http://${name}:${addr.port}`;
  lock.tell(url);
  return {
    url,
    async [Symbol.asyncDispose]() {
      const answered = listening.shutdown();
      // Ends the streams, which would hold up the server for as long as anybody listens.
      working.dispose();
      await tinker.served[Symbol.asyncDispose]();
      await within(answered, LAST_ANSWERS_MS);
      stored.dispose();
    },
  };
}

/**
 * Folders whose modules are executed.
 *
 * @throws UserError naming one that is not there, or that lies where the server and its runs write
 */
function codeOf(named: readonly string[], written: readonly string[]): string[] {
  const folders = exists(PRESETS) ? [PRESETS, ...named] : named;
  return folders.map((folder) => {
    if (!exists(folder)) throw new UserError(`--allow-code ${folder}: there is no such folder.`);
    const around = written.find((other) => isAllowed(folder, [other]));
    if (around === undefined) return folder;
    throw new UserError(
      `${folder} lies in ${around}, which is written to, so no reward module may be taken from it. ` +
        `Move one of the two.`,
    );
  });
}

/** @throws UserError when there can be no folder */
function makeFolder(own: string, root: string): void {
  try {
    Deno.mkdirSync(own, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new UserError(
      `${root} cannot be the folder of the runs: ${
        (error as Error).message
      }. Choose another with --runs.`,
    );
  }
}

function listen(
  hostname: string,
  port: number,
  answer: (request: Request, peer: string) => Response | Promise<Response>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname, port, onListen() {} }, (request, { remoteAddr }) => {
      return answer(request, `${remoteAddr.hostname}:${remoteAddr.port}`);
    });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new UserError(`Port ${port} of ${hostname} is taken. Choose another with --port.`);
    }
    if (
      error instanceof Deno.errors.AddrNotAvailable || error instanceof Deno.errors.PermissionDenied
    ) {
      throw new UserError(`${hostname}:${port} cannot be listened at: ${error.message}.`);
    }
    throw error;
  }
}
