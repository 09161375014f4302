/** Piped input of a remote command: sent with the call if it's complete, else streamed. */
import { setTimeout as sleep } from 'node:timers/promises'
import { contracts } from '#modules/contracts.ts'
import { ApiError } from '../../../client.ts'
import { Unreachable } from '../../server/send.ts'
import { Stop } from '../../exit.ts'
import type { Target } from './target.ts'

/** Largest input of one call: its Base64 form fits in a request body. */
const MAX_AT_ONCE = 524_288
/** How long to wait for the input's end before streaming it. */
const SOON_MS = 100
/** How long to retry an unreachable server or computer, and how often. */
const PATIENCE_MS = 60_000
const AGAIN_MS = 500

export type Piped =
  | { type: 'nothing' }
  | { type: 'whole'; bytes: Buffer }
  /** Input too large for one call, or unfinished; `source` yields all of it, once. */
  | { type: 'stream'; source: AsyncIterable<Buffer> }

export async function piped(): Promise<Piped> {
  if (process.stdin.isTTY) return { type: 'nothing' }
  const rest = (process.stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const parts: Buffer[] = []
  const waiting = new AbortController()
  const late = sleep(SOON_MS, 'late' as const, { signal: waiting.signal }).catch(() => 'late' as const)
  let next = rest.next()
  try {
    for (let size = 0; size <= MAX_AT_ONCE;) {
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

/** Streams the input and its end to a command with an open stdin. Returns when the command ends. */
export async function pipeTo(
  { id, name, call }: Target,
  exec_id: string,
  source: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<void> {
  const { endpoints } = await contracts.computers()
  let offset = 0
  async function write(bytes: Buffer, end: boolean): Promise<boolean> {
    const from = offset
    let until = performance.now() + PATIENCE_MS
    for (;;) {
      const rest = bytes.subarray(offset - from)
      try {
        const input = { id, exec_id, offset, end, ...(rest.length > 0 && { data_base64: rest.toString('base64') }) }
        const answer = await call(endpoints.exec_stdin, input, { signal })
        const { data } = JSON.parse(await answer.text()) as { data: { offset: number; running: boolean } }
        offset = data.offset
        // A slow command is fine; only an unreachable one times out.
        until = performance.now() + PATIENCE_MS
        if (!data.running) return false
        if (offset >= from + bytes.length) return true
      } catch (error) {
        if (signal.aborted) return false
        if (!isPassing(error) || performance.now() > until) throw explainError(error, name)
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
      }
    }
  }
  for await (const bytes of gathered(source))
    for (let at = 0; at < bytes.length; at += MAX_AT_ONCE)
      if (!(await write(bytes.subarray(at, at + MAX_AT_ONCE), false))) return
  await write(Buffer.alloc(0), true)
}

/** Batches bytes that arrive during a call, up to one call's limit. */
async function* gathered(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const came: Buffer[] = []
  let size = 0
  let over = false
  let wake = (): void => {}
  const changed = (): Promise<void> => new Promise((resolve) => (wake = resolve))
  let tell = (): void => {}
  let nextRead = new Promise<void>((resolve) => (tell = resolve))
  const reading = (async () => {
    try {
      for await (const bytes of source) {
        came.push(bytes)
        size += bytes.length
        wake()
        if (size >= MAX_AT_ONCE) await nextRead
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
    nextRead = new Promise<void>((resolve) => (tell = resolve))
    yield bytes
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable ||
  (error instanceof ApiError && (error.status === 503 || error.status === 429 || error.code === 'computer_offline'))

const explainError = (error: unknown, name: string): unknown =>
  error instanceof ApiError && error.code === 'not_supported'
    ? new Stop(
        'usage',
        `The daemon on "${name}" is too old for streamed input.`,
        'It updates itself when it next connects. To update it now, run this on that machine: uk computer install',
      )
    : error
