/** Paths as this system writes them. */
export { basename, dirname, join, relative, resolve } from "node:path";
