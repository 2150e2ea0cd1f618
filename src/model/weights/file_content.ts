/** A file to be written. */
export interface FileContent {
  /** Size of the whole file. */
  readonly bytes: number;
  /**
   * The file from its first byte to its last.
   *
   * @throws Error when a tensor's pieces are not of its shape's size together
   */
  pieces(): AsyncGenerator<Uint8Array>;
}
