/** Paths that Tinker's clients ask. */
export const isTinkerPath = (path: string): boolean => path.startsWith("/api/v1/");

/** The route whose body is binary. */
export const FORWARD_BACKWARD = "/api/v1/forward_backward";

/** What its body is; older clients send JSON, to this route or to one that is gone. */
export const BINARY_BODY = {
  type: "application/x-protobuf",
  advice:
    "Tinker's SDK does so from version 0.25 on; this server was tried with 0.38.0: pip install tinker==0.38.0.",
} as const;
