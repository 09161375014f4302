import { randomBytes } from 'node:crypto'
import type { KeeperClient } from '#daemon/keeper/client.ts'
import { until } from '../until.ts'
import { call, openTerminal } from './keeper.ts'

/** A terminal with a program, driven by a test. */
export interface Seat {
  type(data: string): Promise<unknown>
  resize(cols: number, rows: number): Promise<unknown>
  /** Waits until the output matches, and returns all of it. */
  sees(holds: RegExp): Promise<string>
  /** Waits for a condition, as long as output arrives every minute. */
  shows(holds: (all: string) => boolean): Promise<string>
  /** The program's exit code. */
  exitCode(): Promise<number | null>
}

export async function seatAt(
  client: KeeperClient,
  argv: string[],
  { env, cwd = '/' }: { env: Record<string, string>; cwd?: string },
): Promise<Seat> {
  const terminal_id = randomBytes(8).toString('hex')
  await openTerminal(client, terminal_id, argv, { env, cwd, cols: 90, rows: 30 })
  let from = 0
  let all = ''
  const readOutput = async () => {
    const input = { terminal_id, from, max_bytes: 1 << 20, wait_ms: 1_000, screen: false }
    const stream = await client.open('terminal.read', input)
    const parts: Buffer[] = []
    for await (const item of stream) if (item.type === 'bytes') parts.push(Buffer.from(item.bytes))
    const { offset, terminal } = await stream.output
    all += Buffer.concat(parts).toString()
    from = offset
    return terminal
  }
  const shows = async (holds: (all: string) => boolean): Promise<string> => {
    while (!holds(all)) {
      const before = all.length
      await until(
        async () => (await readOutput(), all),
        (text) => holds(text) || text.length > before,
      )
    }
    return all
  }
  let seq = 0
  const viewer = randomBytes(8).toString('hex')
  return {
    type: (data) => {
      const bytes = Buffer.from(data).toString('base64')
      return call(client, 'terminal.write', { terminal_id, viewer, data: bytes, seq: seq++ })
    },
    resize: (cols, rows) => call(client, 'terminal.resize', { terminal_id, cols, rows }),
    async sees(holds) {
      if (!holds.test(all))
        await until(
          async () => (await readOutput(), all),
          (text) => holds.test(text),
        )
      return all
    },
    shows,
    exitCode: async () => (await until(readOutput, ({ status }) => status === 'ended')).exit_code,
  }
}
