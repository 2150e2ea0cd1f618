import { useEffect, useRef, useState } from "../vendor.js";
import { get } from "./api.js";

const AT_MOST_EVERY_MS = 1500;
const TRY_AGAIN_MS = 4000;

/**
 * What the server answers at an address, loaded again when `version` changes, but not more often than the eye
 * can follow. The last answer stays while the next one is on its way, and when the server is gone.
 *
 * @template Answer
 * @param {string | null} path null: nothing
 * @param {unknown} [version]
 * @returns {{ answer: Answer | null, error: Error | null }}
 */
export function useLoaded(path, version) {
  const [loaded, setLoaded] = useState(
    /** @type {{ path: string | null, answer: Answer | null, error: Error | null }} */
    ({ path, answer: null, error: null }),
  );
  const lastBegan = useRef({ path: /** @type {string | null} */ (null), time: -Infinity });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    const waited = performance.now() - lastBegan.current.time;
    const isNew = lastBegan.current.path !== path;
    const begin = async () => {
      lastBegan.current = { path, time: performance.now() };
      try {
        const answer = await get(path, { signal: abort.signal });
        setLoaded({ path, answer, error: null });
      } catch (error) {
        if (abort.signal.aborted) return;
        const asError = error instanceof Error ? error : new Error(String(error));
        setLoaded((last) => ({
          path,
          answer: last.path === path ? last.answer : null,
          error: asError,
        }));
        timer = setTimeout(() => setAttempt((number) => number + 1), TRY_AGAIN_MS);
      }
    };
    let timer = setTimeout(begin, isNew ? 0 : Math.max(0, AT_MOST_EVERY_MS - waited));
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [path, version, attempt]);
  return loaded.path === path ? loaded : { answer: null, error: null };
}
