/** A browser looks at its GPU by itself. */
export const dawnPolling = { isOnCpu: false, waitBegins() {} };
