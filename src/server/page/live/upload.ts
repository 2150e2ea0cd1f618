import { ApiError, explain } from "./api.ts";

/**
 * Sends a file, of which `fetch` would not tell how much has gone.
 *
 * @param onProgress told the share that is there, 0 to 1
 * @throws ApiError
 */
export function upload(
  path: string,
  file: File,
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.setRequestHeader("content-type", "application/octet-stream");
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded / total);
    request.onload = () => {
      const { status, responseText } = request;
      if (status < 300) resolve();
      else reject(explain(status, responseText));
    };
    request.onerror = () =>
      reject(new ApiError(0, "The server does not answer, or has refused the file."));
    request.onabort = () => reject(new ApiError(0, "Stopped: nothing of the file is kept."));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
