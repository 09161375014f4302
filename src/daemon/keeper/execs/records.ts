import { bootId } from '../../machine.ts'
import { Journal } from '../journal.ts'
import type { Trace } from '../processes/tree.ts'
import type { ExecEnd } from './exec.ts'

/** How long a key is remembered after its command ended: longer than any server retries it. */
const KNOWN_MS = 8 * 24 * 3_600_000
/** The newest keys are remembered regardless of the clock, which may have jumped. */
const ALWAYS_KNOWN = 1_000

type Fact =
  | { key: string; at: number; mark: string; boot?: string | null }
  | { key: string; trace: Trace }
  | { key: string; at: number; end: ExecEnd | 'lost' }

/** The state of a key: running (or running when its keeper was killed), ended, or lost. */
export type Record =
  | { status: 'running'; at: number; mark: string; boot: string | null; trace: Trace | null }
  | { status: 'ended'; at: number; end: ExecEnd }
  | { status: 'lost'; at: number }

/**
 * Commands of the last days, recorded on disk before they start and when they end, so none runs twice and every
 * reported exit is real.
 */
export class Records {
  readonly #journal: Journal<Fact>
  readonly #byKey = new Map<string, Record>()
  #lines = 0

  constructor(path: string) {
    this.#journal = new Journal<Fact>(path)
    for (const fact of this.#journal.read()) this.#take(fact)
    this.#tidy()
  }

  get(key: string): Record | undefined {
    return this.#byKey.get(key)
  }

  running(): [key: string, record: Record & { status: 'running' }][] {
    return [...this.#byKey].filter(
      (entry): entry is [string, Record & { status: 'running' }] => entry[1].status === 'running',
    )
  }

  starts(key: string, mark: string): void {
    this.#add({ key, at: Date.now(), mark, boot: bootId() })
  }

  started(key: string, trace: Trace): void {
    this.#add({ key, trace })
  }

  ended(key: string, end: ExecEnd | 'lost'): void {
    this.#add({ key, at: Date.now(), end })
  }

  #add(fact: Fact): void {
    this.#journal.add(fact)
    this.#take(fact)
    // Each rewrite at least halves the journal. A fixed limit would rewrite it on every line if more commands
    // are recent.
    if (++this.#lines > 10_000 + 2 * this.#byKey.size) this.#tidy()
  }

  #take(fact: Fact): void {
    const { key } = fact
    const record = this.#byKey.get(key)
    if ('mark' in fact) {
      // Records of earlier versions have no boot ID and are taken to be of this boot.
      const { at, mark, boot = bootId() } = fact
      this.#byKey.set(key, { status: 'running', at, mark, boot, trace: null })
    } else if ('trace' in fact) {
      if (record?.status === 'running') record.trace = fact.trace
    } else if (fact.end === 'lost') this.#byKey.set(key, { status: 'lost', at: fact.at })
    else this.#byKey.set(key, { status: 'ended', at: fact.at, end: fact.end })
  }

  #tidy(): void {
    const oldest = Date.now() - KNOWN_MS
    const old = [...this.#byKey].slice(0, -ALWAYS_KNOWN)
    for (const [key, { status, at }] of old) if (status !== 'running' && at < oldest) this.#byKey.delete(key)
    this.#journal.rewrite([...this.#byKey].flatMap(([key, record]) => facts(key, record)))
    this.#lines = this.#byKey.size
  }
}

function facts(key: string, record: Record): Fact[] {
  if (record.status === 'ended') return [{ key, at: record.at, end: record.end }]
  if (record.status === 'lost') return [{ key, at: record.at, end: 'lost' }]
  const { at, mark, boot, trace } = record
  return [{ key, at, mark, boot }, ...(trace ? [{ key, trace }] : [])]
}
