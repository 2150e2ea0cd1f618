import type { CommandSource } from "./program.ts";

/** Each command lives in a file of its own, which is loaded only when that command runs. */
export const COMMANDS: Readonly<Record<string, CommandSource>> = {
  train: {
    summary: "train a generator and a verifier together",
    isForRanks: true,
    load: () => import("./train.ts"),
  },
  sft: {
    summary: "make warm-start weights by supervised fine-tuning",
    isForRanks: true,
    load: () => import("./sft.ts"),
  },
  eval: { summary: "measure a saved generator or verifier", load: () => import("./eval/eval.ts") },
  samples: {
    summary: "show solutions and critiques of a run, coloured by the verifier's judgments",
    load: () => import("./samples.ts"),
  },
  audit: {
    summary: "check a run's files, and do some of its steps again",
    isForRanks: true,
    load: () => import("./audit.ts"),
  },
  diff: {
    summary: "say where two runs part, and why",
    load: () => import("./diff.ts"),
  },
  generate: {
    summary: "answer questions with a saved generator",
    load: () => import("./generate.ts"),
  },
  verify: {
    summary: "let a run's verifier judge a solution",
    load: () => import("./verify.ts"),
  },
  pull: {
    summary: "fetch a model or a data set from the Hugging Face Hub",
    load: () => import("./pull/pull.ts"),
  },
  problems: {
    summary: "write the word problems that some configurations train on",
    load: () => import("./problems.ts"),
  },
  chat: { summary: "talk with a saved model", load: () => import("./chat.ts") },
  compare: {
    summary:
      "compare Tango with GRPO alone and with a frozen verifier, or any arms, over paired seeds",
    load: () => import("./compare.ts"),
  },
  bank: {
    summary: "measure every verifier of some runs on the same frozen solutions",
    load: () => import("./bank/bank.ts"),
  },
  benchmarks: {
    summary: "fetch the benchmarks of the paper, and measure a model on each whole",
    load: () => import("./benchmarks/benchmarks.ts"),
  },
  export: {
    summary: "write a model, or an adapter merged into its base, as a Hugging Face folder",
    load: () => import("./export.ts"),
  },
  serve: {
    summary: "serve the runs: a page and an API to watch, start and steer them",
    load: () => import("./serve.ts"),
  },
  browser: {
    summary: "write the page that trains in a browser tab",
    load: () => import("./browser.ts"),
  },
  steer: {
    summary: "pause, go on with, save, stop or change a run that goes on",
    load: () => import("./steer.ts"),
  },
  bench: {
    summary: "measure every kernel and the end-to-end rates",
    load: () => import("./dev/bench.ts"),
  },
  "machine-code": {
    summary: "show what a GPU's compiler makes of the kernels, without the GPU",
    load: () => import("./dev/machine_code.ts"),
  },
  translate: {
    summary: "put every kernel into the languages of Metal, Direct3D and Vulkan",
    load: () => import("./dev/translate.ts"),
  },
  tune: {
    summary: "show and measure which kernels are fastest on this device",
    load: () => import("./tune.ts"),
  },
  plan: {
    summary: "predict what a run takes on some GPUs: time, memory, waiting, bytes",
    load: () => import("./plan.ts"),
  },
  doctor: {
    summary: "show the GPU adapters and what to do about anything missing",
    isForRanks: true,
    load: () => import("./doctor.ts"),
  },
  test: { summary: "run all tests, or those named", load: () => import("./dev/test.ts") },
  lint: {
    summary: "check style, formatting, types and which folder imports which",
    load: () => import("./dev/lint.ts"),
  },
  docs: {
    summary: "write docs/configuration.md from the configuration's schemas",
    load: () => import("./dev/docs.ts"),
  },
  fmt: { summary: "format the source files", load: () => import("./dev/fmt.ts") },
};
