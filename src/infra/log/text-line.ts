import { styleText } from 'node:util'

interface Line {
  level: string
  time: string
  msg?: string
  [field: string]: unknown
}

const styles: Readonly<Record<string, 'red' | 'yellow' | 'dim'>> = {
  fatal: 'red',
  error: 'red',
  warn: 'yellow',
  info: 'dim',
  debug: 'dim',
}

/** Formats a JSON log line: `09:30:00 warn   the database isn't responding  error="…"`, in UTC. */
export function textLine(json: string): string {
  const { level, time, msg = '', ...fields } = JSON.parse(json) as Line
  const style = styles[level] ?? 'dim'
  const stacks: string[] = []
  const words = Object.entries(fields).map(([name, value]) => {
    const { message, stack } = (value ?? {}) as { message?: unknown; stack?: unknown }
    if (typeof stack !== 'string' || typeof message !== 'string') return `${name}=${valueOf(value)}`
    stacks.push(...stack.split('\n').slice(1))
    return `${name}=${valueOf(message)}`
  })
  const head = `${time.slice(11, 19)} ${styleText(style, level.padEnd(5), { stream: process.stderr })}  ${plain(msg)}`
  return `${[head, ...words].join('  ')}\n${stacks.map((line) => `  ${plain(line.trim())}\n`).join('')}`
}

function valueOf(value: unknown): string {
  if (typeof value === 'string') return /^[\w.:/@+-]+$/.test(value) ? value : plain(JSON.stringify(value))
  return plain(JSON.stringify(value) ?? String(value))
}

/** Escapes control characters: parts of the text come from users. */
const plain = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${char.codePointAt(0)!.toString(16).padStart(4, '0')}`,
  )
