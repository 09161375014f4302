import type { Chunk } from '../model/canonical-request.ts'

/**
 * Changes the chunks of one answer on their way. A step calls `next` for each chunk that it passes on, before it
 * returns: a generator for each step would cost three microtasks per chunk.
 */
export interface ChunkStep {
  push(chunk: Chunk, next: (chunk: Chunk) => void): void
}

export const chainSteps = (steps: readonly ChunkStep[], last: (chunk: Chunk) => void): ((chunk: Chunk) => void) =>
  steps.reduceRight((next, step) => (chunk: Chunk) => step.push(chunk, next), last)

export async function* inSteps(
  chunks: AsyncIterable<Chunk>,
  steps: readonly ChunkStep[],
): AsyncGenerator<Chunk, void, undefined> {
  let passed: Chunk[] = []
  const push = chainSteps(steps, (chunk) => passed.push(chunk))
  for await (const chunk of chunks) {
    push(chunk)
    yield* passed
    passed = []
  }
}
