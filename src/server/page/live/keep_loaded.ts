import { asError } from "./api.ts";

export interface Loading {
  /** What was loaded is out of date. */
  readonly refresh: () => void;
  readonly end: () => void;
}

/**
 * Loads something, and again when it is out of date: one load at a time, none of them given up for the next (a
 * run's steps may follow each other faster than answers do), and not more often than the eye can follow.
 *
 * @param onError it is tried again by itself
 */
export function keepLoaded<Answer>(
  load: (signal: AbortSignal) => Promise<Answer>,
  onAnswer: (answer: Answer) => void,
  onError: (error: Error) => void,
  { everyMs, retryMs }: { everyMs: number; retryMs: number },
): Loading {
  const ending = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let began = -Infinity;
  let isLoading = false;
  let isOutOfDate = true;

  const schedule = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(begin, ms);
  };
  const refresh = () => {
    isOutOfDate = true;
    if (!isLoading) schedule(Math.max(0, began + everyMs - performance.now()));
  };
  const begin = async () => {
    isLoading = true;
    isOutOfDate = false;
    began = performance.now();
    let wait = everyMs;
    try {
      const answer = await load(ending.signal);
      if (!ending.signal.aborted) onAnswer(answer);
    } catch (error) {
      if (ending.signal.aborted) return;
      onError(asError(error));
      isOutOfDate = true;
      wait = retryMs;
    }
    isLoading = false;
    if (isOutOfDate && !ending.signal.aborted) {
      schedule(Math.max(0, began + wait - performance.now()));
    }
  };
  refresh();
  return {
    refresh,
    end() {
      clearTimeout(timer);
      ending.abort();
    },
  };
}
