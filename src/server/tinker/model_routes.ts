/** A client's models: adapters that it makes, anew or of saved ones. */

import { randomInt } from "node:crypto";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { UserError } from "../../base/user_error.ts";
import { type LoraConfig, loraTargets } from "../../model/decoder/lora.ts";
import { RequestProblem } from "../http/problem.ts";
import type { Served } from "../serving/served_models.ts";
import { newApi } from "../routes/api.ts";
import { count, metadata, name, post, type Tinker } from "./api.ts";
import type { FutureResult } from "./futures.ts";
import { digest, takeNumbered } from "./numbered.ts";
import { once } from "./once.ts";
import type { Session, SessionModel } from "./sessions.ts";

/** The change is multiplied by this over the rank. */
const ALPHA = 32;
const MOST_RANK = 512;
const ATTENTION = loraTargets.filter((target) => /^[qkvo]_/.test(target));
const MLP = loraTargets.filter((target) => !ATTENTION.includes(target));

const asksModel = z.looseObject({
  session_id: name,
  model_seq_id: count,
  base_model: name,
  user_metadata: metadata,
  lora_config: z.looseObject({
    rank: z.int(),
    seed: z.int().nullish(),
    train_unembed: z.boolean().nullish(),
    train_mlp: z.boolean().nullish(),
    train_attn: z.boolean().nullish(),
  }),
  optimizer_config: z.looseObject({ type: z.string() }).nullish(),
});

const asksLoading = z.looseObject({
  path: z.string(),
  optimizer: z.boolean().nullish(),
  model_id: name.nullish(),
  seq_id: count.nullish(),
  session_id: name.nullish(),
  model_seq_id: count.nullish(),
});

/** The routes. */
export function modelRoutes(tinker: Tinker): OpenAPIHono {
  const api = newApi();
  const { sessions, futures, served, checkpoints } = tinker;
  const begun = (session: Session, id: string, asked: object, make: () => Promise<FutureResult>) =>
    once(session, id, digest(asked), () => ({ request_id: futures.add(session.id, make()) }));

  post(
    api,
    "create_model",
    "Makes an adapter that at first changes nothing",
    asksModel,
    (asked) => {
      const session = sessions.get(asked.session_id);
      const id = `${session.id}:train:${asked.model_seq_id}`;
      return begun(session, id, asked, async () => {
        const base = served.find(asked.base_model);
        const config = configOf(asked);
        await session.add(id, base, config.rank, async () => {
          await base.model.call<"create">({
            ...{ kind: "create", adapter: id, config },
            seed: asked.lora_config.seed ?? randomInt(2 ** 32),
          });
          checkpoints.begin(id, factsOf(base, config.rank, asked.user_metadata));
        });
        return { json: { model_id: id, type: "create_model" } };
      });
    },
  );

  post(
    api,
    "load_weights",
    "Makes an adapter of a saved one, or puts one back",
    asksLoading,
    (asked) => {
      const load = async (model: SessionModel, folder: string) => {
        const { config } = await model.served.model.call<"load">({
          ...{ kind: "load", adapter: model.id, folder },
          optimizer: asked.optimizer ?? false,
        });
        model.rank = config.rank;
      };
      const loaded = (id: string) => ({ path: asked.path, model_id: id, type: "load_weights" });
      if (asked.model_id != null && asked.seq_id != null) {
        const { model_id, seq_id } = asked;
        return takeNumbered(tinker, { model_id, seq_id }, asked, async (model) => {
          await load(model, checkpoints.find(asked.path).folder);
          return { json: loaded(model_id) };
        });
      }
      if (asked.session_id == null || asked.model_seq_id == null) {
        throw new RequestProblem(
          422,
          "Name a model_id and a seq_id, or a session_id and a model_seq_id.",
        );
      }
      const session = sessions.get(asked.session_id);
      const id = `${session.id}:train:${asked.model_seq_id}`;
      return begun(session, id, asked, async () => {
        const saved = checkpoints.find(asked.path);
        const facts = checkpoints.factsOf(saved.modelId);
        if (facts === null) {
          throw new UserError(`${asked.path}: its run.json is missing or damaged.`);
        }
        const base = served.find(facts.base_model);
        await session.add(id, base, facts.lora_rank, async (model) => {
          await load(model, saved.folder);
          checkpoints.begin(id, { ...facts, created: new Date().toISOString() });
        });
        return { json: loaded(id) };
      });
    },
  );

  post(api, "get_info", "What is known of a model", z.looseObject({ model_id: name }), (asked) => {
    const { model: { id, served: { name: model_name }, rank } } = sessions.model(asked.model_id);
    return {
      type: "get_info",
      model_data: { model_name },
      model_id: id,
      is_lora: true,
      lora_rank: rank,
      model_name,
    };
  });

  return api;
}

/** @throws UserError when the kernels have no such adapter */
function configOf({ lora_config, optimizer_config }: z.output<typeof asksModel>): LoraConfig {
  const { rank, train_mlp, train_attn } = lora_config;
  const optimizer = optimizer_config?.type ?? "adamw";
  if (optimizer !== "adamw") {
    throw new UserError(`optimizer_config: ${JSON.stringify(optimizer)} is not built; take adamw.`);
  }
  if (rank < 4 || rank % 4 !== 0 || rank > MOST_RANK) {
    throw new UserError(
      `lora_config.rank: ${rank}; expected a multiple of 4 from 4 to ${MOST_RANK}.`,
    );
  }
  const targets = [
    ...(train_attn === false ? [] : ATTENTION),
    ...(train_mlp === false ? [] : MLP),
  ];
  if (targets.length === 0) {
    throw new UserError("lora_config: nothing is left to train; set train_mlp or train_attn.");
  }
  return { rank, alpha: ALPHA, targets };
}

const factsOf = (base: Served, rank: number, user: z.output<typeof metadata>) => ({
  base_model: base.name,
  lora_rank: rank,
  created: new Date().toISOString(),
  user_metadata: user ?? null,
});
