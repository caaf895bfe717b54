/** Packed data in the page: bytes as base64, texts packed by gzip. */

/**
 * @param {string} base64
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function bytesOf(base64) {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/**
 * The content of packed bytes, as the body of a response: `.text()`, `.json()`, `.arrayBuffer()`.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export const unpacked = (bytes) =>
  new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));

/** Packed bytes that a browser unpacks at once: a thousand times as many at the most. */
const SLICE_BYTES = 4096;

/**
 * Bytes as a stream of slices: a browser unpacks what it gets at once before it can be stopped.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {ReadableStream<Uint8Array<ArrayBuffer>>}
 */
function slicesOf(bytes) {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.subarray(at, (at += SLICE_BYTES)));
      else controller.close();
    },
  });
}

/**
 * The content of packed bytes that others made; fails where it is longer than was declared.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {number} most bytes
 */
export async function unpackedBytes(bytes, most) {
  const reader = slicesOf(bytes).pipeThrough(new DecompressionStream("gzip")).getReader();
  const pieces = [];
  for (let left = most, next = await reader.read(); !next.done; next = await reader.read()) {
    left -= next.value.length;
    if (left < 0) {
      await reader.cancel();
      throw new Error("a block is longer than its header says");
    }
    pieces.push(next.value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

/**
 * The text of a script element, packed or plain. Unpacking leaves the page free meanwhile.
 * @param {HTMLElement} element
 * @returns {Promise<string>}
 */
export async function textOf(element) {
  const text = element.textContent ?? "";
  return "packed" in element.dataset ? unpacked(bytesOf(text)).text() : text;
}
