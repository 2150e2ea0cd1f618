/** Values as bytes, arrays of numbers among them, and bytes as values. */
export { deserialize, serialize } from "node:v8";
