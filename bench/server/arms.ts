/** Who watches. */
export interface Arm {
  readonly name: string;
  /** Those who follow the events of the run that trains. */
  readonly watchers: number;
  /** Requests a second. */
  readonly reads: number;
  /** What is asked for: curves of the large run, all of them different; what costs nothing; what a page asks. */
  readonly what: "curves" | "health" | "page";
}

export const NOBODY: Arm = { name: "nobody", watchers: 0, reads: 0, what: "health" };

export const ARMS: readonly Arm[] = [
  { name: "one page", watchers: 1, reads: 1, what: "page" },
  { name: "200 watchers", watchers: 200, reads: 0, what: "health" },
  { name: "50 reads/s of nothing", watchers: 0, reads: 50, what: "health" },
  { name: "50 reads/s of curves", watchers: 0, reads: 50, what: "curves" },
  { name: "200 watchers, 50 reads/s of curves", watchers: 200, reads: 50, what: "curves" },
];
