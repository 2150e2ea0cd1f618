import { useEffect, useRef, useState } from "../vendor.js";
import { get } from "./api.js";
import { keepLoaded } from "./keep_loaded.js";

/** @import { Loading } from "./keep_loaded.js" */

const PACE = { everyMs: 1500, retryMs: 4000 };

/**
 * What the server answers at an address, loaded again when `version` changes. The last answer stays while the
 * next one is on its way, and when the server is gone.
 *
 * @template Answer
 * @param {string | null} path null: nothing
 * @param {unknown} [version]
 * @param {string | null} [subject] what the answer is about: as long as it is the same, the answer of another
 *   address stays until the new one is there
 * @returns {{ answer: Answer | null, error: Error | null }}
 */
export function useLoaded(path, version, subject = path) {
  return useKept(path, (signal) => get(path ?? "", { signal }), version, subject);
}

/**
 * The same at several addresses, in their order.
 *
 * @template Answer
 * @param {readonly string[]} paths
 * @param {unknown} version
 * @param {string} subject
 * @returns {{ answer: Answer[] | null, error: Error | null }}
 */
export function useAllLoaded(paths, version, subject) {
  /** @param {AbortSignal} signal */
  const load = (signal) => Promise.all(paths.map((path) => get(path, { signal })));
  return useKept(paths.length === 0 ? null : paths.join(" "), load, version, subject);
}

/**
 * @template Answer
 * @param {string | null} key of what is loaded; null: nothing
 * @param {(signal: AbortSignal) => Promise<Answer>} load
 * @param {unknown} version
 * @param {string | null} subject
 * @returns {{ answer: Answer | null, error: Error | null }}
 */
function useKept(key, load, version, subject) {
  const [loaded, setLoaded] = useState(
    /** @type {{ subject: string | null, answer: Answer | null, error: Error | null }} */
    ({ subject, answer: null, error: null }),
  );
  const loading = useRef(/** @type {Loading | null} */ (null));
  const lastVersion = useRef(version);
  useEffect(() => {
    if (key === null) return;
    lastVersion.current = version;
    const one = keepLoaded(
      load,
      (answer) => setLoaded({ subject, answer, error: null }),
      (error) =>
        setLoaded((last) => ({
          subject,
          answer: last.subject === subject ? last.answer : null,
          error,
        })),
      PACE,
    );
    loading.current = one;
    return () => {
      one.end();
      loading.current = null;
    };
  }, [key, subject]);
  useEffect(() => {
    if (lastVersion.current !== version) loading.current?.refresh();
    lastVersion.current = version;
  }, [version]);
  return loaded.subject === subject ? loaded : { answer: null, error: null };
}
