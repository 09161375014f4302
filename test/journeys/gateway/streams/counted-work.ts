import { Session } from 'node:inspector/promises'

/** A block of the project's code, and how often it ran. */
export type Counts = ReadonlyMap<string, number>

/** Counts how often each block of the project's code runs, using V8's coverage counters. */
class WorkCounter implements AsyncDisposable {
  readonly #session = new Session()

  async start(): Promise<void> {
    this.#session.connect()
    await this.#session.post('Profiler.enable')
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  async count(work: () => void | Promise<void>): Promise<Counts> {
    await this.#session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await this.#session.post('Profiler.takePreciseCoverage')
    const counts = new Map<string, number>()
    for (const { url, functions } of result) {
      const path = /\/src\/(.*)$/.exec(url)?.[1]
      if (path === undefined || url.includes('node_modules')) continue
      for (const { functionName, ranges } of functions)
        for (const { startOffset, count } of ranges) counts.set(`${path} ${functionName} at ${startOffset}`, count)
    }
    return counts
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }
}

/** Returns the blocks that ran more than about twice as often for twice the input. */
export async function superlinear(work: (size: number) => void | Promise<void>, size: number): Promise<string[]> {
  await using counter = new WorkCounter()
  await counter.start()
  // Runs one-time code first, such as module initialization.
  await work(size)
  let blocks = await steepBlocks(counter, work, size)
  // V8 once reported fewer runs than there were, for an unknown reason, so a finding must be confirmed.
  for (let again = 0; again < 2 && blocks.length > 0; again++) {
    const confirmedBlocks = new Set((await steepBlocks(counter, work, size)).map(([block]) => block))
    blocks = blocks.filter(([block]) => confirmedBlocks.has(block))
  }
  return blocks.map(([block, counts]) => `${block}: ${counts}`)
}

async function steepBlocks(
  counter: WorkCounter,
  work: (size: number) => void | Promise<void>,
  size: number,
): Promise<[block: string, counts: string][]> {
  const once = await counter.count(() => work(size))
  const twice = await counter.count(() => work(2 * size))
  return [...twice].flatMap(([block, count]): [string, string][] => {
    const before = once.get(block) ?? 0
    return count > 2.5 * before && count > 10 * size ? [[block, `${before} → ${count}`]] : []
  })
}
