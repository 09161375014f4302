/**
 * Decodes base64 chunks of 16-bit little-endian audio into samples from -1 to 1. Samples can be split across chunks.
 */
export function pcmIn(): (base64: string) => Float32Array<ArrayBuffer> {
  let rest: number | null = null
  return (base64) => {
    const text = atob(base64)
    const bytes = new Uint8Array(text.length + (rest === null ? 0 : 1))
    if (rest !== null) bytes[0] = rest
    const from = bytes.length - text.length
    for (let at = 0; at < text.length; at++) bytes[from + at] = text.charCodeAt(at)
    rest = bytes.length % 2 === 1 ? bytes.at(-1)! : null
    const view = new DataView(bytes.buffer)
    const samples = new Float32Array(bytes.length >> 1)
    for (let at = 0; at < samples.length; at++) samples[at] = view.getInt16(at * 2, true) / 32_768
    return samples
  }
}
