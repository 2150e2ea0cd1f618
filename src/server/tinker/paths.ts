/** Paths that Tinker's clients ask. */
export const isTinkerPath = (path: string): boolean => path.startsWith("/api/v1/");

/** The route whose body is binary. */
export const FORWARD_BACKWARD = "/api/v1/forward_backward";
