/**
 * What a promise comes to within some time; null when it does not.
 *
 * @throws what it is rejected with within that time
 */
export async function within<Value>(
  promise: Promise<Value>,
  milliseconds: number,
): Promise<Value | null> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), milliseconds);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
