import { availableParallelism } from 'node:os'
import { type TurnLimits, createTurns } from '#packages/fair-queue/turns.ts'
import type { GramQuery } from '#packages/linear-grep/regex/grams.ts'
import type { LineSpec } from '#packages/linear-grep/regex/line-pattern.ts'
import { InvalidPattern, type PatternSpec } from '#packages/linear-grep/regex/pattern.ts'
import type { ScanFile, ScanLimits, ScanTask, ScanResult } from './scan.ts'
import { createSlowPatterns } from './slow-patterns.ts'
import { type Thread, startThread } from './thread.ts'

/**
 * Searches in threads with turns per account: a turn is a slice of a task, and one thread is always free for another
 * account. Calls end with `signal` and may throw `Busy`.
 */
export interface Scanner extends AsyncDisposable {
  width: number
  prepare(account: string, spec: PatternSpec, signal?: AbortSignal): Promise<GramQuery>
  scan(account: string, load: () => Promise<ScanTask>, signal?: AbortSignal): Promise<ScanResult[]>
  /** Tests each line; fewer results than lines if that is too much work. Throws `InvalidPattern`. */
  hits(account: string, spec: LineSpec, lines: readonly string[], signal?: AbortSignal): Promise<boolean[]>
}

const LIMITS: ScanLimits = { steps: 100_000_000, cpuMs: 4_000, sliceMs: 250 }
/** A thread stops long before this, except while it compiles a pattern or reads a file. */
const HARD_MS = 30_000
const WIDTH = Math.max(3, Math.min(8, availableParallelism()))

export function createScanner(overrides: Partial<ScanLimits & TurnLimits> = {}): Scanner {
  const limits = { ...LIMITS, ...overrides }
  const atOnce = overrides.atOnce ?? WIDTH
  const each = overrides.each ?? Math.max(1, atOnce - 1)
  const turns = createTurns({ waitingEach: 200, waiting: 2_000, ...overrides, atOnce, each })
  const slow = createSlowPatterns()
  const idle: Thread[] = []
  const alive = new Set<Thread>()

  const leave = (thread: Thread): void => {
    const at = idle.indexOf(thread)
    if (at >= 0) idle.splice(at, 1)
    alive.delete(thread)
  }

  async function withThread<T>(signal: AbortSignal | undefined, work: (thread: Thread) => Promise<T>): Promise<T> {
    const thread = idle.pop() ?? startThread(HARD_MS, leave)
    alive.add(thread)
    try {
      return await work(thread)
    } finally {
      // The turn lasts until the thread stops, even if the caller left.
      await thread.waitUntilStopped(signal)
      if (alive.has(thread)) idle.push(thread)
    }
  }

  const isKnownSlow = (task: ScanTask, { sha256 }: ScanFile): boolean => slow.has(keyOf(task, sha256))
  const skip = ({ index }: ScanFile): ScanResult => ({ index, count: 0, lines: [], more: false, skipped: 'too_slow' })

  return {
    width: each,
    async prepare(account, spec, signal) {
      using _turn = await turns.take(account, signal)
      const reply = await withThread(signal, (thread) => thread.ask({ prepare: spec }, signal))
      if ('lost' in reply) throw new InvalidPattern('The pattern takes too long to compile. Use fewer repetitions.')
      return (reply as { grams: GramQuery }).grams
    },
    async scan(account, load, signal) {
      const answers: ScanResult[] = []
      let task: ScanTask | undefined
      for (;;) {
        using _turn = await turns.take(account, signal)
        task ??= await load()
        const { files } = task
        const remaining = files.filter((file) => !isKnownSlow(task!, file))
        answers.push(...files.filter((file) => !remaining.includes(file)).map(skip))
        if (remaining.length === 0) return answers
        const request = { files: { ...task, files: remaining }, limits }
        const reply = await withThread(signal, (thread) => thread.ask(request, signal))
        const results = 'lost' in reply ? [skip(remaining[reply.lost]!)] : (reply as { scanned: ScanResult[] }).scanned
        const reachedIndexes = new Set(results.map(({ index }) => index))
        for (const file of remaining.filter(({ index }) => reachedIndexes.has(index)))
          if (results.some(({ index, skipped }) => index === file.index && skipped === 'too_slow'))
            slow.add(keyOf(task, file.sha256))
        answers.push(...results)
        task = { ...task, files: remaining.filter(({ index }) => !reachedIndexes.has(index)) }
        if (task.files.length === 0) return answers
      }
    },
    async hits(account, spec, lines, signal) {
      using _turn = await turns.take(account, signal)
      const reply = await withThread(signal, (thread) => thread.ask({ lines, spec, limits }, signal))
      return 'lost' in reply ? [] : (reply as { hits: boolean[] }).hits
    },
    async [Symbol.asyncDispose]() {
      turns[Symbol.dispose]()
      await Promise.all([...alive].map((thread) => thread.end()))
    },
  }
}

/** Identifies a search of one content: equal keys need equal work. */
const keyOf = ({ spec, want, countAll }: ScanTask, sha256: string): string =>
  JSON.stringify([spec, want, countAll, sha256])
