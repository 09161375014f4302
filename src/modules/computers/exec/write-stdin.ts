import type { AskedStream } from '#daemon-protocol/link.ts'
import type { Input } from '#core/contract.ts'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import { CHANNEL, type Output } from '#daemon-protocol/operations.ts'
import type { exec_stdin as endpoint } from '../contract-exec.ts'
import type { HasLinks } from '../link/links.ts'
import { lossesOf } from '../link/losses.ts'
import { isOwner, openStdins } from './open-stdins.ts'
import { watchPermission } from './permission.ts'

/** Resumes from the command's offset after a lost link, so no byte is written twice. */
export async function writeStdin(
  ctx: Context<HasLinks>,
  { id, exec_id, offset, data, data_base64, end }: Input<typeof endpoint>,
) {
  if (data !== undefined && data_base64 !== undefined)
    refuse('invalid_parameter', { param: 'data', message: 'Send either `data` or `data_base64`.' })
  const bytes = data_base64 === undefined ? Buffer.from(data ?? '') : Buffer.from(data_base64, 'base64')
  const whose = await openStdins.of(ctx.db, id, exec_id)
  if (whose === null || !isOwner(ctx.principal, whose))
    refuse('not_found', {
      param: 'exec_id',
      message: 'You have no command with this ID and an open stdin on this computer.',
    })
  await using permitted = watchPermission(ctx, id, 'exec', ctx.signal)
  const { links } = ctx.engine
  using limit = links.limit(id, permitted.signal, links.limits.answerMs)
  const { signal } = limit
  const losses = lossesOf(links, id, { signal })
  for (;;) {
    try {
      const stream = await links.open(id, 'exec.write', { key: exec_id, offset, finish: end }, { signal })
      const { arrived, running } = await writeBytes(stream, bytes, offset)
      return { exec_id, offset: arrived, running }
    } catch (error) {
      await losses.outlast(error)
    }
  }
}

async function writeBytes(
  stream: AskedStream<'exec.write'>,
  bytes: Uint8Array,
  offset: number,
): Promise<Output<'exec.write'>> {
  const writing = (async () => {
    if (bytes.length > 0) await stream.write(bytes, CHANNEL.stdin, offset)
    stream.finish()
  })()
  // The command may end early. Its reply reports how much it read.
  writing.catch(() => {})
  return stream.output
}
