import { OpenAPIHono } from "@hono/zod-openapi";
import type { Benchmarks } from "./benchmarks/benchmarks.ts";
import { describeApi } from "./description.ts";
import { type Access, refuse, signIn } from "./http/guard.ts";
import { LARGEST_BODY, readBody } from "./http/body.ts";
import { RateLimit, RATES, tooMany } from "./http/limits.ts";
import { notFound } from "./http/methods.ts";
import type { AllowedFolders } from "./launches/allowed_paths.ts";
import { AllRuns } from "./launches/all_runs.ts";
import type { Launcher } from "./launches/launcher.ts";
import { Steering } from "./launches/steering.ts";
import type { DataSets } from "./datasets/data_sets.ts";
import type { KeptReadings } from "./datasets/kept_readings.ts";
import type { LiveMemory } from "./runs/live_memory.ts";
import { answerError } from "./routes/api.ts";
import { benchRoutes } from "./routes/bench.ts";
import { comparisonRoutes } from "./routes/comparison.ts";
import { controlRoutes } from "./routes/control.ts";
import { datasetsRoutes } from "./routes/datasets.ts";
import { differenceRoutes } from "./routes/difference.ts";
import { evaluationRoutes } from "./routes/evaluations.ts";
import { exportRoutes } from "./routes/exports.ts";
import { eventsRoutes } from "./routes/events.ts";
import { foldersRoutes } from "./routes/folders.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { modelsRoutes } from "./routes/models.ts";
import { prometheusRoutes } from "./routes/prometheus.ts";
import { runsRoutes } from "./routes/runs.ts";
import { samplesRoutes } from "./routes/samples.ts";
import { startRoutes } from "./routes/start.ts";
import { systemRoutes } from "./routes/system.ts";
import { verifyRoutes } from "./routes/verify.ts";
import { PAGE_POLICY } from "./page_files.ts";
import type { Jobs } from "./models/jobs.ts";
import { ModelCatalog } from "./models/model_catalog.ts";
import type { Pulls } from "./models/pulls.ts";
import { adapterRoutes } from "./openai/adapters.ts";
import { chatRoutes } from "./openai/chat.ts";
import { completionRoutes } from "./openai/completions.ts";
import { type Asking, errorAnswer } from "./openai/error.ts";
import { generateRoutes } from "./openai/generate.ts";
import { modelListRoutes } from "./openai/models.ts";
import { isOpenAiPath } from "./openai/paths.ts";
import { ModelNames } from "./serving/model_names.ts";
import type { Tinker } from "./tinker/api.ts";
import { BINARY_BODY, FORWARD_BACKWARD, isTinkerPath } from "./tinker/paths.ts";
import { tinkerRoutes } from "./tinker/tinker.ts";
import { tokenRoutes } from "./openai/tokens.ts";
import { pageRoutes } from "./page_routes.ts";
import { policyOf, type TabFiles, tabRoutes } from "./tab_routes.ts";

/** Said with every answer. */
const HEADERS = {
  "content-security-policy": PAGE_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** What the routes are about. */
export interface AppParts {
  readonly launcher: Launcher;
  readonly memory: LiveMemory;
  readonly pulls: Pulls;
  readonly dataSets: DataSets;
  readonly readings: KeptReadings;
  /** Of data sets, as `pulls` is of models. */
  readonly dataPulls: Pulls;
  /** The folder of models that are fetched and exported. */
  readonly models: string;
  readonly evaluations: Jobs;
  readonly exports: Jobs;
  readonly benchmarks: Benchmarks;
  /** Models, and what clients do with them. */
  readonly tinker: Tinker;
  /** That the configurations of new runs may lead into. */
  readonly folders: AllowedFolders;
  /** Ends what is only done for who waits for it. */
  readonly ending: AbortSignal;
  /** The page that trains in the browser; null: it is not served. */
  readonly tab: TabFiles | null;
}

/** All routes, behind the checks of who asks and how much. */
export function makeApp(
  {
    launcher,
    memory,
    pulls,
    dataSets,
    readings,
    dataPulls,
    models,
    evaluations,
    exports,
    benchmarks,
    tinker,
    folders,
    ending,
    tab,
  }: AppParts,
  access: Access,
): OpenAPIHono<Asking> {
  const { list, launches } = launcher;
  const runs = new AllRuns(launcher, memory);
  const steering = new Steering(list, launches);
  const names = new ModelNames(tinker.served, list, steering, folders.files);
  const catalog = new ModelCatalog(folders.files, list);
  const ownFolders = [models, list.root];
  const app = new OpenAPIHono<Asking>();
  const reads = new RateLimit(RATES.reads);
  const changes = new RateLimit(RATES.changes);
  const entered = new WeakSet<Request>();
  app.use(async (context, next) => {
    const { raw: request, path } = context.req;
    // The router takes the path "/*" for its own pattern, and comes here twice.
    if (entered.has(request)) return await next();
    entered.add(request);
    const isReading = request.method === "GET" || request.method === "HEAD";
    const isOpenAi = isOpenAiPath(path);
    const isOfModels = isOpenAi || isTinkerPath(path);
    // A model has a queue of its own.
    const rate = isReading || isOfModels ? reads : changes;
    // It goes to the disk as it comes.
    const isUpload = request.method === "PUT" && path.startsWith("/api/datasets/");
    const refusal = refuse(request, path, access) ?? signIn(request, path, access.token) ??
      (rate.take() ? null : tooMany("requests")) ??
      (isReading || isUpload ? null : await readBody(
        context.req,
        isOfModels ? LARGEST_BODY.ofModels : LARGEST_BODY.ofRuns,
        path === FORWARD_BACKWARD ? BINARY_BODY : undefined,
      ));
    if (refusal === null) await next();
    else context.res = isOpenAi ? await asOpenAi(refusal) : refusal;
    for (const [name, value] of Object.entries({ ...HEADERS, ...policyOf(path) })) {
      context.res.headers.set(name, value);
    }
  });
  for (
    const routes of [
      runsRoutes(runs, list),
      startRoutes(runs, launcher, folders),
      controlRoutes(runs, launcher, steering),
      metricsRoutes(runs),
      samplesRoutes(runs),
      eventsRoutes(runs),
      foldersRoutes(runs),
      comparisonRoutes(runs),
      differenceRoutes(runs, ending),
      systemRoutes(list),
      modelsRoutes({ catalog, pulls, served: tinker.served, runs, launches, own: ownFolders }),
      evaluationRoutes(evaluations, list, folders.files),
      exportRoutes(exports, catalog, list, models),
      datasetsRoutes(dataSets, readings, dataPulls, runs, launches),
      prometheusRoutes(runs, list, tinker.served),
      verifyRoutes(runs, launcher.program, ending),
      benchRoutes(benchmarks),
    ]
  ) app.route("/", routes);
  for (
    const routes of [
      modelListRoutes(names),
      completionRoutes(names),
      chatRoutes(names),
      generateRoutes(names),
      tokenRoutes(names),
      adapterRoutes(tinker.served, folders.files),
    ]
  ) app.route("/", routes);
  app.route("/", tinkerRoutes(tinker));
  app.route("/", pageRoutes());
  if (tab !== null) app.route("/", tabRoutes(tab));
  const description = describeApi(app, access);
  app.get("/openapi.json", (context) => context.json(description));
  const documented = app.openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === "route" ? [definition.route] : []
  );
  app.notFound(async ({ req }) => {
    const refusal = notFound(req.raw, documented);
    return isOpenAiPath(req.path) ? await asOpenAi(refusal) : refusal;
  });
  app.onError(answerError);
  return app;
}

/** A refusal as OpenAI's clients read it. */
async function asOpenAi(refusal: Response): Promise<Response> {
  const { detail } = await refusal.json();
  const { "content-type": _, ...headers } = Object.fromEntries(refusal.headers);
  return errorAnswer(refusal.status, detail, null, headers);
}
