/** A server's runs and models, with the types of its own routes. */

import type { Hono } from "hono";
import { type ClientResponse, hc } from "hono/client";
import type { SuccessStatusCode } from "hono/utils/http-status";
import type { adapterRoutes } from "../server/openai/adapters.ts";
import type { chatRoutes } from "../server/openai/chat.ts";
import type { completionRoutes } from "../server/openai/completions.ts";
import type { generateRoutes } from "../server/openai/generate.ts";
import type { modelListRoutes } from "../server/openai/models.ts";
import type { tokenRoutes } from "../server/openai/tokens.ts";
import type { comparisonRoutes } from "../server/routes/comparison.ts";
import type { controlRoutes } from "../server/routes/control.ts";
import type { eventsRoutes } from "../server/routes/events.ts";
import type { metricsRoutes } from "../server/routes/metrics.ts";
import type { runsRoutes } from "../server/routes/runs.ts";
import type { samplesRoutes } from "../server/routes/samples.ts";
import type { startRoutes } from "../server/routes/start.ts";
import type { systemRoutes } from "../server/routes/system.ts";
import { type Address, headersOf, requireDone } from "./address.ts";

// deno-lint-ignore no-explicit-any -- what the library itself asks of an app
type App = Hono<any, any, any>;
type ClientOf<Make extends (...given: never[]) => App> = ReturnType<typeof hc<ReturnType<Make>>>;

/** Runs: to start, steer and follow them. */
export type RunsClient =
  & ClientOf<typeof runsRoutes>
  & ClientOf<typeof startRoutes>
  & ClientOf<typeof controlRoutes>
  & ClientOf<typeof metricsRoutes>
  & ClientOf<typeof samplesRoutes>
  & ClientOf<typeof eventsRoutes>
  & ClientOf<typeof comparisonRoutes>
  & ClientOf<typeof systemRoutes>;

/** Models: to sample from them. */
export type ModelsClient =
  & ClientOf<typeof modelListRoutes>
  & ClientOf<typeof completionRoutes>
  & ClientOf<typeof chatRoutes>
  & ClientOf<typeof generateRoutes>
  & ClientOf<typeof tokenRoutes>
  & ClientOf<typeof adapterRoutes>;

/** A path is asked as it is written: `client.api.runs[":id"].$get({ param: { id } })`. */
export type Client = RunsClient & ModelsClient;

/** What asks a server. Nothing is asked yet. */
export function connect(address: Address): Client {
  return hc<App>(address.url, { headers: headersOf(address) }) as unknown as Client;
}

/** What a route answers in JSON when it does what it is asked; some can answer in text, too. */
type Done<Answer> = Answer extends ClientResponse<infer Body, infer Status>
  ? Status extends SuccessStatusCode ? Exclude<Body, string | Response> : never
  : never;

/**
 * What is answered, of a request that is done: `await answered(client.api.runs.$get({ query: {} }))`.
 *
 * @throws Refused when it is not
 */
export async function answered<Answer extends ClientResponse<unknown>>(
  answer: Promise<Answer>,
): Promise<Done<Answer>> {
  const response = await requireDone(await answer as unknown as Response);
  return await response.json();
}
