/** Paths as this system writes them. */
export { basename, dirname, join, resolve } from "node:path";
