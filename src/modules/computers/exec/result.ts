import type { Output } from '#core/contract.ts'
import type { Background, Event } from '#core/answers.ts'
import type { Id } from '#core/ids.ts'
import type { Output as Answered } from '#daemon-protocol/operations.ts'
import type { exec as endpoint } from '../contract-exec.ts'
import type { Capture } from './capture.ts'

export type Result = Exclude<Output<typeof endpoint>, Background | AsyncIterable<Event>>

export function resultOf(id: Id, end: Answered<'exec'>, capture: Capture, base64: boolean): Result {
  const stdout = capture.of('stdout', end.stdout_bytes)
  const stderr = capture.of('stderr', end.stderr_bytes)
  return {
    id,
    ...endOf(end),
    truncated: stdout.truncated || stderr.truncated,
    stdout: stdout.bytes.toString('utf8'),
    stderr: stderr.bytes.toString('utf8'),
    ...(base64 && {
      stdout_base64: stdout.bytes.toString('base64'),
      stderr_base64: stderr.bytes.toString('base64'),
    }),
  }
}

export const endOf = ({ exit_code, signal, timed_out, duration_ms }: Answered<'exec'>) => ({
  exit_code: timed_out ? null : exit_code,
  signal,
  timed_out,
  duration_ms,
})
