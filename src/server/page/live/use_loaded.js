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
  const [loaded, setLoaded] = useState(
    /** @type {{ subject: string | null, answer: Answer | null, error: Error | null }} */
    ({ subject, answer: null, error: null }),
  );
  const loading = useRef(/** @type {Loading | null} */ (null));
  const lastVersion = useRef(version);
  useEffect(() => {
    if (path === null) return;
    lastVersion.current = version;
    const one = keepLoaded(
      (signal) => get(path, { signal }),
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
  }, [path, subject]);
  useEffect(() => {
    if (lastVersion.current !== version) loading.current?.refresh();
    lastVersion.current = version;
  }, [version]);
  return loaded.subject === subject ? loaded : { answer: null, error: null };
}
