import { createHash } from 'node:crypto'

/** Deterministic numbers in [0, 1) for a text: SHA-256 in counter mode, sufficient for colors and tones. */
export function numbersOf(words: string): () => number {
  let [block, at, count] = [Buffer.alloc(0), 0, 0]
  return () => {
    if (at + 4 > block.length) {
      block = createHash('sha256').update(`${count++} ${words}`).digest()
      at = 0
    }
    at += 4
    return block.readUInt32BE(at - 4) / 2 ** 32
  }
}
