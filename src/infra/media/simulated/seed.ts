import { createHash } from 'node:crypto'

/** Numbers that are the same for equal words, each from 0 to below 1. SHA-256 in counter mode: enough for colours and tones. */
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
