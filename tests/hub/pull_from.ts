import { HubClient } from "../../src/hub/hub_client.ts";
import { HubRepository } from "../../src/hub/hub_repository.ts";
import { pull, type PullPlan } from "../../src/hub/pull.ts";
import { parseRepository } from "../../src/hub/repository.ts";
import type { FakeHub } from "./fake_hub.ts";

/** What a test sets; the rest is as the command has it. */
export interface PullSettings {
  readonly folder: string;
  readonly kind?: "model" | "dataset";
  readonly patterns?: readonly string[];
  readonly revision?: string;
  readonly token?: string;
  readonly signal?: AbortSignal;
  /** Gets the seconds of every pause, none of which is waited for. */
  readonly pauses?: number[];
  readonly onProgress?: (path: string, arrived: number) => void;
}

/** Fetches from a fake Hub, without ever waiting. */
export async function pullFrom(hub: FakeHub, settings: PullSettings): Promise<PullPlan> {
  const signal = settings.signal ?? new AbortController().signal;
  const access = { endpoint: hub.endpoint, token: settings.token ?? null };
  const repository = parseRepository(hub.id, settings.kind ?? "model");
  const patience = {
    pause: (seconds: number) => Promise.resolve(void settings.pauses?.push(seconds)),
    onRetry: () => {},
  };
  return await pull(
    new HubRepository(repository, new HubClient(access, signal), patience),
    {
      revision: settings.revision ?? "main",
      patterns: settings.patterns ?? [],
      folder: settings.folder,
      signal,
    },
    {
      onPlan: () => {},
      onProgress: ({ path }, arrived) => settings.onProgress?.(path, arrived),
    },
  );
}

/** A small model whose configuration the engine knows. */
export function modelFiles(): Record<string, string | Uint8Array<ArrayBuffer>> {
  return {
    "config.json": JSON.stringify({
      model_type: "qwen2",
      vocab_size: 64,
      hidden_size: 32,
      intermediate_size: 64,
      num_hidden_layers: 1,
      num_attention_heads: 2,
    }),
    "generation_config.json": `{"eos_token_id": 3}`,
    "tokenizer.json": "{}",
    "tokenizer_config.json": `{"chat_template": "{{ messages }}"}`,
    "README.md": "# About\n",
    "pytorch_model.bin": "never fetched",
    "model.safetensors": someBytes(200_000),
  };
}

/** Bytes that differ from their neighbours. */
export function someBytes(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 255);
}

/** Calls `body` with a new folder inside a temporary one, which is removed afterwards. */
export async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const temporary = Deno.makeTempDirSync();
  try {
    await body(`${temporary}/new`);
  } finally {
    Deno.removeSync(temporary, { recursive: true });
  }
}

/** Names in a folder and below it, sorted; none when there is no such folder. */
export function namesIn(folder: string, prefix = ""): string[] {
  try {
    return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
      isDirectory ? namesIn(`${folder}/${name}`, `${prefix}${name}/`) : [prefix + name]
    ).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
