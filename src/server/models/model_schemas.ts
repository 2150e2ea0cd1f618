import { z } from "@hono/zod-openapi";
import { REPOSITORY_ID } from "../../hub/repository.ts";

/** A model that is being fetched, or was since the server began. */
export const pullSchema = z.object({
  id: z.string().describe("owner/name on the Hub."),
  path: z.string().describe("Where it goes."),
  state: z.enum(["running", "done", "failed"]),
  arrived: z.number().describe("Bytes that are here, of those that were missing."),
  total: z.number().nullable().describe("Bytes that were missing; null before that is known."),
  error: z.string().nullable(),
}).openapi("Pull");
export type PullView = z.infer<typeof pullSchema>;

/** A model, an adapter or a checkpoint. */
export const modelSchema = z.object({
  name: z.string().nullable().describe(
    "By which /v1 is asked for it; null where it cannot be asked.",
  ),
  path: z.string().describe("What a configuration calls a model or an adapter."),
  kind: z.enum(["model", "adapter", "gguf", "checkpoint"]),
  bytes: z.number().describe("Of its weights; of a checkpoint with what its optimizer keeps."),
  parameters: z.number().nullable().describe(
    "Numbers that it has; null where its files do not tell.",
  ),
  base: z.string().nullable().describe("Of an adapter, where its base is."),
  hasChat: z.boolean().nullable().describe(
    "Whether it can be talked with at /v1/chat/completions; else ask /v1/completions. Null: its files do not tell.",
  ),
  run: z.string().nullable().describe("The run that it lies in."),
  step: z.int().nullable(),
  policy: z.string().nullable(),
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
  problem: z.string().nullable().describe("Why it cannot be used."),
  served: z.string().nullable().describe("What it is called where the server was started with it."),
  isOwn: z.boolean().describe("Whether it may be removed."),
}).openapi("FoundModel");

/** What is to be fetched. @param files what is fetched where it names none */
export const pullRequestSchema = (files: string) =>
  z.strictObject({
    id: z.string().max(200).regex(REPOSITORY_ID, "expected owner/name").describe("owner/name"),
    revision: z.string().min(1).max(200).optional().describe("Branch, tag or commit."),
    files: z.array(z.string().min(1).max(200)).max(50).optional().describe(
      `Globs; left out: ${files}.`,
    ),
  });

/** What GET /api/models says. */
export const listSchema = z.object({
  models: z.array(modelSchema),
  unread: z.array(z.object({ path: z.string(), reason: z.string() })).describe(
    "Folders that could not be looked into, in which there may be more.",
  ),
  pulls: z.array(pullSchema),
});

/** Models on the disk, and what is being fetched. */
export type ModelList = z.infer<typeof listSchema>;
