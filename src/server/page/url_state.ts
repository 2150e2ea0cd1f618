/** What the page shows is in its address, so that a reload, a bookmark or a colleague sees the same. */

import type { RunView } from "../runs/run_view.ts";

/** What the page shows, and how each is called. */
export const SCREENS = {
  run: "Runs",
  start: "New run",
  models: "Models",
  chat: "Chat",
  data: "Data",
  verify: "Verify",
  bench: "Benchmarks",
  api: "API",
};

/** What is shown of a run or a comparison. */
export const VIEWS = {
  curves: "Curves",
  runs: "Runs",
  samples: "Samples",
  verifier: "Verifier",
  difference: "Difference",
  timeline: "Timeline",
  memory: "Memory",
  settings: "Settings",
  checkpoints: "Checkpoints",
  events: "Events",
};

/** Which samples are shown. */
export const FILTERS = {
  "": "all",
  disagrees: "verdict against the truth",
  longest: "longest first",
  "cut-off": "cut off",
  "bad-format": "format broken",
};

/** What steps are coloured by. */
export const COLOURS = { judgment: "verifier's judgment", advantage: "advantage" };

/** What tokens are coloured by. */
export const TOKENS = {
  "": "nothing",
  advantage: "advantage",
  difference: "sampling against training",
};

/** What a new run does; "" is what its preset does. */
export const KINDS = {
  "": "Reinforcement learning",
  sft: "Fine-tuning",
  compare: "Comparison of methods",
};

/** In which state runs are that are listed. */
export const STATES: Readonly<Record<"" | RunView["state"], string>> = {
  "": "–",
  waiting: "waiting",
  starting: "starting",
  running: "running",
  paused: "paused",
  stopping: "stopping",
  stopped: "stopped",
  finished: "finished",
  failed: "failed",
  killed: "killed",
  lost: "lost",
};

/** In which order runs are listed. */
export const SORTS = {
  "": "newest first",
  endedAt: "ended last first",
  id: "by name",
  state: "by state",
  step: "most steps first",
};

type Read<Value> = (text: string | null) => Value;

const anyText: Read<string> = (text) => text ?? "";

const oneOf = <Words extends object>(
  words: Words,
  otherwise: keyof Words & string,
): Read<keyof Words & string> =>
(text) => text !== null && Object.hasOwn(words, text) ? text as keyof Words & string : otherwise;

const whole =
  <Otherwise>(minimum: number, otherwise: Otherwise): Read<number | Otherwise> => (text) =>
    text !== null && /^\d{1,9}$/.test(text) ? Math.max(minimum, Number(text)) : otherwise;

/** What the form of a new run is filled with. */
const FORM_PARTS = {
  kind: oneOf(KINDS, ""),
  preset: anyText,
  /** Path of a model to train from. */
  model: anyText,
  /** The key `data` of a configuration, as JSON. */
  data: anyText,
  /** A run that is to be done again. */
  again: anyText,
  /** Other keys of the configuration, as a JSON object. */
  change: anyText,
};

/** A form of a new run that nothing is filled in of. */
export const EMPTY_FORM = {
  kind: "",
  preset: "",
  model: "",
  data: "",
  again: "",
  change: "",
} as const;

/** How each part of an address is read; what it does not say, or says wrongly, is the default. */
const PARTS = {
  screen: oneOf(SCREENS, "run"),
  view: oneOf(VIEWS, "curves"),
  /** Steps that each point of a curve is the mean of. */
  smoothing: ((text) => Math.min(101, whole(1, 1)(text))) as Read<number>,
  /** First and last step shown. */
  from: whole(0, null),
  to: whole(0, null),
  filter: oneOf(FILTERS, ""),
  /** Of samples, or of a checkpoint. */
  step: whole(0, null),
  /** The problem whose samples are shown; "" for all. */
  group: anyText,
  /** Of samples. */
  page: whole(1, 1),
  colour: oneOf(COLOURS, "judgment"),
  tokens: oneOf(TOKENS, ""),
  ...FORM_PARTS,
  /** The model talked with, by its name, and the data set shown with its file, "" for all of its files. */
  asked: anyText,
  set: anyText,
  file: anyText,
  /** A curve that is not among the usual ones. */
  more: anyText,
  /** Of the runs that are listed: words, a tag and a state that they have, and their order. */
  wanted: anyText,
  tag: anyText,
  state: oneOf(STATES, ""),
  sort: oneOf(SORTS, ""),
  /** The benchmark shown, "" for the newest, and the one beside it, "" for none. */
  bench: anyText,
  earlier: anyText,
};

export type PageState =
  & { readonly [Name in keyof typeof PARTS]: ReturnType<typeof PARTS[Name]> }
  & {
    /** The run shown, and those compared with it. */
    readonly runs: readonly string[];
  };

/** Reads an address from its question mark on. */
export function readState(search: string): PageState {
  const query = new URLSearchParams(search);
  const parts = Object.entries(PARTS).map(([name, read]) => [name, read(query.get(name))]);
  const runs = [...new Set(query.getAll("run"))].filter((id) => id !== "").slice(0, 4);
  return { ...Object.fromEntries(parts), runs };
}

/** Writes an address, "/" or from the question mark on: only what is not the default; of a form only beside it. */
export function writeState({ runs, ...parts }: PageState): string {
  const query = new URLSearchParams(runs.map((id) => ["run", id]));
  for (const [name, read] of Object.entries(PARTS)) {
    if (parts.screen !== "start" && Object.hasOwn(FORM_PARTS, name)) continue;
    const value: unknown = Reflect.get(parts, name);
    if (value !== read(null) && value !== null) query.set(name, String(value));
  }
  return query.size === 0 ? "/" : `?${query}`;
}
