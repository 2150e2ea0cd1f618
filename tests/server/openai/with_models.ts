import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import type { ServingOptions } from "../../../src/server/serving/messages.ts";
import { ServedModels } from "../../../src/server/serving/served_models.ts";
import { serve } from "../../../src/server/serve.ts";
import { program } from "../client.ts";
import { withFolder } from "../written_run.ts";

/** The warm start of the embedded task: 64 characters, 512 positions. */
export const TINY = join(PROJECT_FOLDER, "weights/last-letter/generator");

/** Writes the embedded model with a chat template of its own. */
export function writeTalking(folder: string, template: string): void {
  for (const { name } of Deno.readDirSync(TINY)) {
    Deno.copyFileSync(join(TINY, name), join(folder, name));
  }
  Deno.writeTextFileSync(join(folder, "chat_template.jinja"), template);
}

/** A server with models, and who asks it. */
export interface WithModels {
  readonly url: string;
  readonly served: ServedModels;
  /** Where the server keeps its runs, and in `checkpoints` what is saved of adapters. */
  readonly root: string;
  /** Sends JSON and reads the answer. */
  readonly ask: (path: string, body: object) => Promise<Answer>;
}

/** An answer in JSON, whatever is in it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any
  readonly body: any;
}

/** Serves models by name, each from a path; `tiny` is the embedded one unless told. */
export async function withModels(
  body: (served: WithModels) => Promise<void>,
  models: Readonly<Record<string, string>> = { tiny: TINY },
  others: Partial<ServingOptions> = {},
): Promise<void> {
  await withFolder(async (root) => {
    await using served = new ServedModels({
      ...{ slots: 32, cacheTokens: 4096, microBatchTokens: 512 },
      ...others,
    });
    for (const [name, path] of Object.entries(models)) await served.open(name, path);
    const options = {
      ...{
        hostname: "127.0.0.1",
        port: 0,
        token: null,
        folders: ["configs", "weights"].map((name) => join(PROJECT_FOLDER, name)),
        root,
      },
      checkpoints: join(root, "checkpoints"),
    };
    await using server = serve({ ...options, program, served });
    const ask = async (path: string, asked: object): Promise<Answer> => {
      const response = await fetch(server.url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
      });
      const { status, headers } = response;
      const isJson = headers.get("content-type")?.startsWith("application/json");
      return { status, headers, body: await (isJson ? response.json() : response.text()) };
    };
    await body({ url: server.url, served, root, ask });
  });
}

/** Waits until a model has nothing to do. */
export async function untilIdle(served: ServedModels, name = "tiny"): Promise<void> {
  while (served.find(name).model.pending > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
