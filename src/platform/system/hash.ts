/** Digests of what comes in pieces. */
export { createHash, type Hash } from "node:crypto";
