import { AsyncLocalStorage } from 'node:async_hooks'
import pino from 'pino'
import { textLine } from './log/text-line.ts'

export type Log = pino.Logger

/** The request ID for log lines of code without a context. */
export const logScope = new AsyncLocalStorage<{ request_id: string; client_request_id?: string }>()

/** `auto`: text on a terminal, JSON lines otherwise. */
type LogFormat = 'auto' | 'text' | 'json'

/** Writes to stderr; stdout has the ready line. Redacts fields that may hold secrets at any depth. */
export function createLog(level: string, format: LogFormat = 'json'): Log {
  const destination = pino.destination({ fd: 2, sync: true })
  const isText = format === 'text' || (format === 'auto' && process.stderr.isTTY)
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      mixin: () => logScope.getStore() ?? {},
      redact: {
        paths: ['password', 'key', 'api_key', 'token', 'secret', 'authorization', 'cookie'].flatMap((name) => [
          name,
          `*.${name}`,
        ]),
        remove: true,
      },
      serializers: { error: pino.stdSerializers.err, err: pino.stdSerializers.err },
    },
    isText ? { write: (line: string) => void destination.write(textLine(line)) } : destination,
  )
}
