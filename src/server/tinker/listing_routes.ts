/** What clients have made and saved, to look through and to go on from. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { RequestProblem } from "../http/problem.ts";
import { newApi } from "../routes/api.ts";
import { at, inPath, post, type Tinker } from "./api.ts";
import { checkpointAddress, type Checkpoints, type Kind, KINDS } from "./checkpoints.ts";

const MOST_LISTED = 1000;
const query = z.object({
  limit: z.coerce.number<string>().int().min(1).max(MOST_LISTED).default(20),
  offset: z.coerce.number<string>().int().min(0).max(2 ** 31).default(0),
});
const one = z.object({ id: inPath("id") });
const saved = z.object({ id: inPath("id"), kind: z.enum(KINDS), name: inPath("name") });

/** The routes. */
export function listingRoutes({ checkpoints, sessions }: Tinker): OpenAPIHono {
  const api = newApi();
  const list = { query };
  at(api, "get", "training_runs", "All models of clients, newest first", list, (_, window) => {
    const { page, cursor } = pageOf(checkpoints.models(), window);
    return { training_runs: page.map((id) => describe(checkpoints, id)), cursor };
  });
  at(api, "get", "training_runs/{id}", "One of them", { params: one }, ({ id }) => {
    return describe(checkpoints, id);
  });
  const ofOne = { params: one };
  at(api, "get", "training_runs/{id}/checkpoints", "What was saved of it", ofOne, ({ id }) => {
    return { checkpoints: savedOf(checkpoints, id) };
  });
  at(api, "get", "checkpoints", "What was saved of all, newest first", list, (_, window) => {
    const all = checkpoints.models().flatMap((id) => savedOf(checkpoints, id))
      .sort((a, b) => a.time < b.time ? 1 : -1);
    const { page, cursor } = pageOf(all, window);
    return { checkpoints: page, cursor };
  });
  at(api, "get", "sessions", "The clients that are there", list, (_, window) => {
    return { sessions: pageOf(sessions.all.map(({ id }) => id), window).page };
  });
  at(api, "get", "sessions/{id}", "What one of them has", ofOne, ({ id }) => {
    const session = sessions.all.find((one) => one.id === id);
    if (!session) throw new RequestProblem(404, "There is no such session, or it is over.");
    const { models, samplings } = session;
    return { training_run_ids: [...models.keys()], sampler_ids: [...samplings.keys()] };
  });
  const removed = "training_runs/{id}/checkpoints/{kind}/{name}";
  at(api, "delete", removed, "Removes what was saved", { params: saved }, ({ id, kind, name }) => {
    checkpoints.remove(checkpoints.find(`tinker://${id}/${kind}/${name}`));
    return {};
  });
  // Said more clearly than that there is no such address.
  const bare = z.object({ id: inPath("id"), name: inPath("name") });
  const alone = "training_runs/{id}/checkpoints/{name}";
  at(api, "delete", alone, "Refuses a name without its kind", { params: bare }, ({ name }) => {
    throw new RequestProblem(
      400,
      `${
        JSON.stringify(name)
      } is no checkpoint's id; expected weights/NAME or sampler_weights/NAME.`,
    );
  });
  const asksInfo = z.looseObject({ tinker_path: z.string() });
  post(api, "weights_info", "What was saved at an address", asksInfo, ({ tinker_path }) => {
    const { base_model, lora_rank } = known(checkpoints, checkpoints.find(tinker_path).modelId);
    return { base_model, is_lora: true, lora_rank, train_unembed: false };
  });
  return api;
}

function pageOf<Item>(all: readonly Item[], { offset, limit }: z.output<typeof query>) {
  const cursor = { offset, limit, total_count: all.length };
  return { page: all.slice(offset, offset + limit), cursor };
}

function known(checkpoints: Checkpoints, id: string) {
  const facts = checkpoints.factsOf(id);
  if (facts) return facts;
  throw new RequestProblem(404, `There is no model ${id}.`);
}

function describe(checkpoints: Checkpoints, id: string) {
  const { base_model, lora_rank, created, user_metadata } = known(checkpoints, id);
  const saved = savedOf(checkpoints, id);
  const last = (type: string) =>
    saved.findLast(({ checkpoint_type }) => checkpoint_type === type) ?? null;
  return {
    training_run_id: id,
    base_model,
    model_owner: "local",
    is_lora: true,
    corrupted: false,
    lora_rank,
    last_request_time: saved.at(-1)?.time ?? created,
    last_checkpoint: last(TYPES.weights),
    last_sampler_checkpoint: last(TYPES.sampler_weights),
    user_metadata,
  };
}

const TYPES: Readonly<Record<Kind, string>> = { weights: "training", sampler_weights: "sampler" };

function savedOf(checkpoints: Checkpoints, id: string) {
  known(checkpoints, id);
  return checkpoints.saved(id).map((saved) => ({
    checkpoint_id: `${saved.kind}/${saved.name}`,
    checkpoint_type: TYPES[saved.kind],
    time: saved.time.toISOString(),
    tinker_path: checkpointAddress(saved),
    size_bytes: saved.bytes,
    public: false,
  }));
}
