import pino from 'pino'
import { type Log, logScope } from '#infra/log.ts'

type Line = Record<string, unknown>

/** A server log from warnings on, readable by the test. */
export function readableLog(): { log: Log; lines: Line[]; errors(): Line[] } {
  const lines: Line[] = []
  const log = pino(
    {
      level: 'warn',
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => logScope.getStore() ?? {},
      serializers: { error: pino.stdSerializers.err },
    },
    { write: (line: string) => void lines.push(JSON.parse(line) as Line) },
  )
  return { log, lines, errors: () => lines.filter(({ level }) => level === 'error' || level === 'fatal') }
}
