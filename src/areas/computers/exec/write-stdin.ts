import type { Input } from '#kernel/contract.ts'
import type { Context } from '#engine/context.ts'
import { refuse } from '#kernel/errors.ts'
import { CHANNEL, type Output } from '#wire/operations.ts'
import type { AskedStream } from '#wire/stream.ts'
import type { exec_stdin as endpoint } from '../contract-exec.ts'
import type { HasLinks } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'

/** Gives a command more to read. Over a link that breaks it is given again from where it is; no byte twice. */
export async function writeStdin(
  { engine: { links }, signal }: Context<HasLinks>,
  { id, exec_id, offset, data, data_base64, end }: Input<typeof endpoint>,
) {
  if (data !== undefined && data_base64 !== undefined)
    refuse('invalid_parameter', { param: 'data', message: 'Give either `data` or `data_base64`.' })
  const bytes = data_base64 === undefined ? Buffer.from(data ?? '') : Buffer.from(data_base64, 'base64')
  const losses = lossesOf(links, id, { signal })
  for (;;) {
    try {
      const stream = await links.open(id, 'exec.write', { key: exec_id, offset, finish: end }, { signal })
      const { arrived, running } = await written(stream, bytes, offset)
      return { exec_id, offset: arrived, running }
    } catch (error) {
      await losses.outlast(error)
    }
  }
}

async function written(
  stream: AskedStream<'exec.write'>,
  bytes: Uint8Array,
  offset: number,
): Promise<Output<'exec.write'>> {
  const giving = (async () => {
    if (bytes.length > 0) await stream.write(bytes, CHANNEL.stdin, offset)
    stream.finish()
  })()
  // It may have ended without having taken it all: its answer says how much.
  giving.catch(() => {})
  return stream.output
}
