import type { Event } from '#core/answers.ts'
import { Refusal, errorBody } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import { createTextCutter } from './capture.ts'
import { endOf } from './result.ts'
import type { ExecPart, OutputChannel } from './run-exec.ts'

/** A failure after the start is the last event. */
export async function* narrate(
  id: Id,
  first: IteratorResult<ExecPart, void>,
  parts: AsyncGenerator<ExecPart, void>,
  base64: boolean,
): AsyncGenerator<Event> {
  const cutters = { stdout: createTextCutter(), stderr: createTextCutter() }
  const receivedBytes = { stdout: 0, stderr: 0 }
  let truncated = false
  const outputOf = (channel: OutputChannel, text: ReturnType<typeof cutters.stdout.end>): Event[] =>
    text === null
      ? []
      : [
          {
            event: channel,
            data: {
              data: text.text,
              ...(base64 && { data_base64: text.bytes.toString('base64') }),
              offset: text.offset,
            },
          },
        ]
  try {
    for (let next = first; !next.done; next = await parts.next()) {
      const part = next.value
      if (part.type === 'started') yield { event: 'exec.started', data: { id, pid: part.pid } }
      else if (part.type === 'bytes') {
        truncated ||= part.offset > receivedBytes[part.channel]
        receivedBytes[part.channel] = part.offset + part.bytes.length
        yield* outputOf(part.channel, cutters[part.channel].add(part.offset, part.bytes))
      } else {
        for (const channel of ['stdout', 'stderr'] as const) yield* outputOf(channel, cutters[channel].end())
        const { stdout_bytes, stderr_bytes } = part.end
        const all = receivedBytes.stdout >= stdout_bytes && receivedBytes.stderr >= stderr_bytes
        yield {
          event: 'exec.completed',
          data: { id, ...endOf(part.end), truncated: truncated || !all, stdout_bytes, stderr_bytes },
        }
      }
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    yield { event: 'exec.failed', data: { id, error: errorBody(error).error } }
  } finally {
    await parts.return()
  }
}
