/** Adapters that become models, and cease to be. */

import { createRoute, z } from "@hono/zod-openapi";
import { type AllowedFolders, isAllowed } from "../launches/allowed_paths.ts";
import { RequestProblem } from "../http/problem.ts";
import { jsonBody } from "../http/route.ts";
import type { ServedModels } from "../serving/served_models.ts";
import { newOpenAiApi, openAiErrors } from "./error.ts";

const done = {
  200: { description: "Done", content: { "text/plain": { schema: z.string() } } },
  ...openAiErrors(400, 404, 409, 413, 415),
} as const;

const NAME = z.string().min(1).max(200);

const load = createRoute({
  method: "post",
  path: "/v1/load_lora_adapter",
  summary: "Makes an adapter on disk a model",
  request: {
    body: jsonBody(z.strictObject({
      lora_name: NAME.describe("What it is called from then on."),
      lora_path: z.string().min(1).describe("Its folder, as PEFT has it."),
      base_model_name: NAME.nullish().describe("Needed where several models are served."),
    })),
  },
  responses: done,
});

const unload = createRoute({
  method: "post",
  path: "/v1/unload_lora_adapter",
  summary: "Takes its name away",
  request: { body: jsonBody(z.strictObject({ lora_name: NAME })) },
  responses: done,
});

/** The routes. @param folders that adapters may lie in */
export function adapterRoutes(
  models: ServedModels,
  folders: AllowedFolders["files"],
) {
  return newOpenAiApi()
    .openapi(load, (context) => {
      const { lora_name, lora_path, base_model_name } = context.req.valid("json");
      if (!isAllowed(lora_path, folders)) {
        throw new RequestProblem(
          400,
          `lora_path: expected a folder in one of ${
            folders.join(", ")
          }; ./tango serve --allow FOLDER allows others.`,
          "lora_path",
        );
      }
      models.addAdapter(lora_name, lora_path, base_model_name ?? null);
      return context.text(`Success: LoRA adapter '${lora_name}' added successfully.`, 200);
    })
    .openapi(unload, (context) => {
      const { lora_name } = context.req.valid("json");
      models.removeAdapter(lora_name);
      return context.text(`Success: LoRA adapter '${lora_name}' removed successfully.`, 200);
    });
}
