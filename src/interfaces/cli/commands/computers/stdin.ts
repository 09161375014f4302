/** Piped input of a command that runs elsewhere: sent with the call where all of it is there, else as it comes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { contracts } from '#modules/contracts.ts'
import { ApiError } from '../../../client.ts'
import { Unreachable } from '../../server/send.ts'
import { Stop } from '../../exit.ts'
import type { Target } from './target.ts'

/** The most input of one call: in Base64, and within the body that a call may have. */
const MOST_AT_ONCE = 524_288
/** The time within which piped input has to end to go with the call. */
const SOON_MS = 100
/** How long a server or a computer that is away is waited for, and how often it is asked. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 500

export type Piped =
  | { type: 'nothing' }
  /** All of the input. */
  | { type: 'whole'; bytes: Buffer }
  /** Input of more than one call, or not at its end yet; `source` gives all of it, once. */
  | { type: 'stream'; source: AsyncIterable<Buffer> }

/** The piped input; none where a person sits at the terminal. */
export async function piped(): Promise<Piped> {
  if (process.stdin.isTTY) return { type: 'nothing' }
  const rest = (process.stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const parts: Buffer[] = []
  const waiting = new AbortController()
  const late = sleep(SOON_MS, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
  let next = rest.next()
  try {
    for (let size = 0; size <= MOST_AT_ONCE;) {
      const came = await Promise.race([next, late])
      if (came === 'late') break
      if (came.done) return size === 0 ? { type: 'nothing' } : { type: 'whole', bytes: Buffer.concat(parts) }
      parts.push(came.value)
      size += came.value.length
      next = rest.next()
    }
  } finally {
    waiting.abort()
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield* parts.splice(0)
    for (let came = await next; !came.done; came = await rest.next()) yield came.value
  }
  return { type: 'stream', source: all() }
}

/** Writes all of it to a command that was begun with an open stdin, as it comes, and then its end. Over when the command is. */
export async function pipeTo(
  { id, name, call }: Target,
  exec_id: string,
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const { endpoints } = await contracts.computers()
  let offset = 0
  /** Answers whether the command reads on. */
  async function write(bytes: Buffer, end: boolean): Promise<boolean> {
    const from = offset
    let until = performance.now() + PATIENCE_MS
    for (;;) {
      const rest = bytes.subarray(offset - from)
      try {
        const given = { id, exec_id, offset, end, ...(rest.length > 0 && { data_base64: rest.toString('base64') }) }
        const answer = await call(endpoints.exec_stdin, given, { signal })
        const { data } = JSON.parse(await answer.text()) as { data: { offset: number; running: boolean } }
        offset = data.offset
        // A command may take its time: only how long nobody answers is counted.
        until = performance.now() + PATIENCE_MS
        if (!data.running) return false
        if (offset >= from + bytes.length) return true
      } catch (error) {
        if (signal.aborted) return false
        if (!isPassing(error) || performance.now() > until) throw told(error, name)
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
      }
    }
  }
  for await (const bytes of gathered(source))
    for (let at = 0; at < bytes.length; at += MOST_AT_ONCE)
      if (!(await write(bytes.subarray(at, at + MOST_AT_ONCE), false))) return
  await write(Buffer.alloc(0), true)
}

/** Gathers bytes that come while the last ones are on their way; of a fast source at most what a call takes waits. */
async function* gathered(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const came: Buffer[] = []
  let size = 0
  let over = false
  let wake = (): void => {}
  const changed = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  let tell = (): void => {}
  let taken = new Promise<void>((resolve) => (tell = resolve))
  const reading = (async () => {
    try {
      for await (const bytes of source) {
        came.push(bytes)
        size += bytes.length
        wake()
        if (size >= MOST_AT_ONCE) await taken
      }
    } finally {
      over = true
      wake()
    }
  })()
  reading.catch(() => {})
  for (;;) {
    if (came.length === 0) {
      if (over) return await reading
      await changed()
      continue
    }
    const bytes = Buffer.concat(came.splice(0))
    size = 0
    tell()
    taken = new Promise<void>((resolve) => (tell = resolve))
    yield bytes
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof ApiError && (error.status === 503 || error.status === 429 || error.code === 'computer_offline'))

const told = (error: unknown, name: string): unknown =>
  error instanceof ApiError && error.code === 'not_supported'
    ? new Stop(
        'usage',
        `The daemon on "${name}" is of an earlier version, which takes no more than what is piped in at once.`,
        'It is updated when it next connects, or where it runs: uk computer install',
      )
    : error
