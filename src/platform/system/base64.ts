/** Bytes as text, and text as bytes. */
export { Buffer } from "node:buffer";
