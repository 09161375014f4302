/** What is piped into a command that runs elsewhere: with the call, or, where that is too much for one, in a file there. */
import { randomBytes } from 'node:crypto'
import { contracts } from '#areas/contracts.ts'
import { pathBytes } from '#kernel/text/file-path.ts'
import { ApiError } from '../../../client.ts'
import { Stop, exitFor } from '../../exit.ts'
import { copyContent } from './cp/copy.ts'
import { progressOn } from '../../output/progress.ts'
import { filesOf } from './cp/there.ts'
import { type Target, homeOf } from './target.ts'

/** What one call takes as its input. */
const MOST_STDIN = 1_048_576

export type Piped =
  | { type: 'nothing' }
  | { type: 'little'; bytes: Buffer }
  /** More than one call takes; `source` gives all of it, once. */
  | { type: 'much'; source: AsyncIterable<Uint8Array> }

/** What is piped in; nothing where a person sits at it. */
export async function piped(): Promise<Piped> {
  if (process.stdin.isTTY) return { type: 'nothing' }
  const rest = (process.stdin as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  const parts: Buffer[] = []
  let size = 0
  while (size <= MOST_STDIN) {
    const { value, done } = await rest.next()
    if (done) return size === 0 ? { type: 'nothing' } : { type: 'little', bytes: Buffer.concat(parts) }
    parts.push(value)
    size += value.length
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    yield* parts.splice(0)
    yield* { [Symbol.asyncIterator]: () => rest }
  }
  return { type: 'much', source: all() }
}

/** A file on the computer that a command reads, which goes as soon as it is opened. */
export interface Brought {
  /** The command, reading it. */
  argv: string[]
  /** Where the command was not begun. */
  remove(): Promise<void>
}

/** Brings what is piped in there, in the home of the daemon's user, readable by that user alone. */
export async function bring(
  target: Target,
  source: AsyncIterable<Uint8Array>,
  argv: readonly string[],
): Promise<Brought> {
  const { id, call } = target
  const path = `${(await homeOf(target)).replace(/\/$/, '')}/.uk-stdin-${randomBytes(8).toString('hex')}`
  const { endpoints } = await contracts.computers()
  const mark = randomBytes(16).toString('hex')
  using progress = progressOn(process.stderr)
  try {
    await copyContent(
      { size: null, mode: 0o600, modified: null, mark, read: () => source },
      filesOf(target).sink(pathBytes(path), { force: false, beside: null }),
      'stdin',
      progress,
    )
  } catch (error) {
    if (error instanceof ApiError && error.status === 403)
      throw new Stop(
        exitFor(error.status),
        `More than 1 MiB is piped in, which goes to a file there first; nothing was run. ${error.message}`,
      )
    throw error
  }
  return {
    argv: ['/bin/sh', '-c', 'exec <"$1" && rm -f -- "$1" && shift && exec "$@"', 'sh', path, ...argv],
    remove: async () => void (await call(endpoints.fs, { id, op: 'remove', path }).catch(() => {})),
  }
}
